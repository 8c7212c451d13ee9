"""chromadb or lancedb behind lines of JSON; runs in an environment that has that product alone.

    python vector_store.py chromadb|lancedb FOLDER [MODEL]

Each line is a call, `{"op": ..., ...}`, and each line back its result. chromadb embeds with its
default, lancedb, which has none, with the model in MODEL.
"""

# This file runs elsewhere: it imports nothing of this project.
import json
import sys


class Chroma:
    def __init__(self, folder, _model):
        import chromadb

        self.rows = chromadb.PersistentClient(folder).get_or_create_collection("memories")

    def store(self, key, text):
        self.rows.add(ids=[key], documents=[text])

    def search(self, question):
        return self.rows.query(query_texts=[question], n_results=10)["ids"][0]

    def holds(self, key, text):
        return self.rows.get(ids=[key])["documents"] == [text]

    def replace(self, old, text):
        self.rows.update(ids=[old], documents=[text])
        return False

    def delete_and_take_back(self, key):
        self.rows.delete(ids=[key])
        return False


class Lance:
    def __init__(self, folder, model):
        import lancedb
        import pyarrow

        self.embedder = MiniLM(model)
        database = lancedb.connect(folder)
        text, vector = pyarrow.string(), pyarrow.list_(pyarrow.float32(), 384)
        schema = pyarrow.schema([("id", text), ("text", text), ("vector", vector)])
        self.rows = database.create_table("memories", schema=schema, exist_ok=True)

    def store(self, key, text):
        self.rows.add([{"id": key, "text": text, "vector": self.embedder(text)}])

    def search(self, question):
        found = self.rows.search(self.embedder(question)).distance_type("cosine").limit(10)
        return [row["id"] for row in found.select(["id"]).to_list()]

    def holds(self, key, text):
        rows = self.rows.search().where(f"id = '{key}'").to_list()
        return [row["text"] for row in rows] == [text]

    def replace(self, old, text):
        before = self.rows.version
        values = {"text": text, "vector": self.embedder(text)}
        self.rows.update(where=f"id = '{old}'", values=values)
        self.rows.checkout(before)
        had = self.rows.count_rows(f"id = '{old}'") == 1 and not self.holds(old, text)
        self.rows.checkout_latest()
        return had

    def delete_and_take_back(self, key):
        before = self.rows.version
        self.rows.delete(f"id = '{key}'")
        self.rows.restore(before)
        return self.rows.count_rows(f"id = '{key}'") == 1


class MiniLM:
    def __init__(self, folder):
        from fastembed import TextEmbedding

        name = "sentence-transformers/all-MiniLM-L6-v2"
        self.model = TextEmbedding(name, specific_model_path=folder)

    def __call__(self, text):
        return next(iter(self.model.embed([text]))).tolist()


def main():
    product, folder, *model = sys.argv[1:]
    store = {"chromadb": Chroma, "lancedb": Lance}[product](folder, model and model[0])
    for line in sys.stdin:
        call = json.loads(line)
        result = getattr(store, call.pop("op"))(**call)
        print(json.dumps({"result": result}), flush=True)


if __name__ == "__main__":
    main()
