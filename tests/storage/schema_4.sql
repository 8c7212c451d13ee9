-- A store of schema 4, dumped from the file that its program wrote.
PRAGMA page_size=2048;
BEGIN TRANSACTION;
CREATE TABLE access_keys (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    rights TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO access_keys VALUES('aaaaaaaa','key aaaaaaaa',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','["read"]','["*"]',1780662615123456,'',NULL,NULL,X'F1790CC37FEE183F0037F0469892FD6F');
CREATE TABLE activations (
    number INTEGER PRIMARY KEY REFERENCES memories (number) ON DELETE CASCADE,
    activation REAL NOT NULL,
    activated_at INTEGER NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO activations VALUES(2,2.5,1780736400000000,X'558FDFAD03EDECACF007A85F241A14E1');
CREATE TRIGGER note_activations AFTER INSERT ON activations BEGIN INSERT OR REPLACE INTO usage_changes (id) SELECT id FROM memories WHERE number = new.number; END;
CREATE TABLE erased (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO erased VALUES(9,'slip',X'9876DF37658139BCE20691201BD544A4');
CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    digest BLOB NOT NULL
) STRICT;
INSERT INTO journal VALUES(1,'{"at":"2026-06-05T09:00:01Z","client":"python","process":"localhost 1-00000000","operation":"scope","memories":[],"scopes":[[null,{"name":"apollo","description":"the project","parent":null,"keywords":[],"active":true,"sensitivity":"normal"}]],"links":[],"undoes":null,"reason":""}',X'F856F347B325912A75BD92420B3CC970179CEF7F8CDC2CDF6CA84BA73FD345F1');
INSERT INTO journal VALUES(2,'{"at":"2026-06-05T09:00:04Z","client":"python","process":"localhost 1-00000000","operation":"remember","memories":[["deadline",0,1]],"scopes":[],"links":[],"undoes":null,"reason":""}',X'6927FA88DF41B63F4341CE892AC07376BA8F10566A4971634250927390F7CE7A');
INSERT INTO journal VALUES(3,'{"at":"2026-06-05T09:00:08Z","client":"python","process":"localhost 1-00000000","operation":"revise","memories":[["deadline",1,2]],"scopes":[],"links":[],"undoes":null,"reason":""}',X'14F8AA25624D79266D6F8D2B6C3546EBEA70A825A8754AB3019F19CFE0AFE5D6');
INSERT INTO journal VALUES(4,'{"at":"2026-06-05T09:00:12Z","client":"python","process":"localhost 1-00000000","operation":"remember","memories":[["job",0,1]],"scopes":[],"links":[],"undoes":null,"reason":""}',X'A3ACF4BA8AACD4C59A74A4AEC6725A3FF1720CD90121E1BD8EF28C2D800785CB');
INSERT INTO journal VALUES(5,'{"at":"2026-06-05T09:00:16Z","client":"python","process":"localhost 1-00000000","operation":"remember","memories":[["slip",0,1]],"scopes":[],"links":[],"undoes":null,"reason":""}',X'5B97F25C862B1358079FA59EFAFE67EC0B4B79E261593CE65CCFD037C1B26D1D');
INSERT INTO journal VALUES(6,'{"at":"2026-06-05T09:00:18Z","client":"python","process":"localhost 1-00000000","operation":"erase","memories":[["slip",1,0]],"scopes":[],"links":[],"undoes":null,"reason":""}',X'10BB0BDD4DC92C10F57BA02AC8AB6242D433FF911B583F1A852644A850708878');
CREATE TABLE journal_memories (
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (id, number)
) STRICT, WITHOUT ROWID;
INSERT INTO journal_memories VALUES('deadline',3);
INSERT INTO journal_memories VALUES('slip',5);
INSERT INTO journal_memories VALUES('slip',6);
CREATE TABLE ledger (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    identity TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    token BLOB NOT NULL,
    entries INTEGER NOT NULL,
    digest BLOB NOT NULL,
    active_model TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO ledger VALUES(1,'5d8964a8-78e1-47ec-9bc0-40096d628186',9,X'8051CA49168956AE409272DB4E41D81D',6,X'10BB0BDD4DC92C10F57BA02AC8AB6242D433FF911B583F1A852644A850708878','hashing-8',X'5F2512EF36331E9905E6762D72C829F3');
CREATE TABLE links (
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    type TEXT NOT NULL,
    weight REAL NOT NULL,
    made_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (source, target, type)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER count_linked BEFORE INSERT ON links WHEN NOT EXISTS (SELECT 1 FROM links WHERE (source, target, type) = (new.source, new.target, new.type)) BEGIN UPDATE totals SET count = count + 1 WHERE part = 'links'; END;
CREATE TRIGGER count_unlinked AFTER DELETE ON links BEGIN UPDATE totals SET count = count - 1 WHERE part = 'links'; END;
CREATE INDEX links_by_target ON links (target);
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    "id" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "title" TEXT,
    "scope" TEXT NOT NULL,
    "tags" TEXT NOT NULL,
    "context" TEXT NOT NULL,
    "conversation_id" TEXT,
    "speaker" TEXT,
    "origin" TEXT NOT NULL,
    "happened_at" INTEGER NOT NULL,
    "stored_at" INTEGER NOT NULL,
    "valid_from" INTEGER,
    "valid_to" INTEGER,
    "key" TEXT,
    "status" TEXT NOT NULL,
    "important" INTEGER NOT NULL,
    "sources" TEXT NOT NULL,
    "attachments" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    sequence INTEGER NOT NULL UNIQUE,
    embedded_by TEXT,
    content_hash BLOB NOT NULL,
    checksum BLOB NOT NULL,
    entry INTEGER
) STRICT;
INSERT INTO memories VALUES(1,'deadline','The deadline of project Apollo is June 12','note',NULL,'apollo','["plan"]','{}',NULL,NULL,'user',1780650002000000,1780650007000000,NULL,NULL,NULL,'current',0,'[]','[]',2,4,'hashing-8',X'9F59D2C30AFF82E42E214F1FE5E5F7C611C8E492637F508FAE754A1116A19AF9',X'84CF8AF6470D9468702112698FAEF758',2);
INSERT INTO memories VALUES(2,'job','Alice works at Acme','fact',NULL,'Global','[]','{}',NULL,NULL,'user',1780650009000000,1780650009000000,NULL,NULL,'job','current',0,'[]','[]',1,6,'hashing-8',X'CD55FF5D623D1CB8137FABCCC70A84F7785BD699CE55F3515076CA869A904BC1',X'1222C4D362D1583FE4C3D1973B70B533',4);
CREATE TRIGGER count_changed AFTER UPDATE ON memories BEGIN INSERT INTO tallies VALUES (new.scope, new.kind, new.status, ifnull(new.embedded_by, ''), 1) ON CONFLICT DO UPDATE SET count = count + 1; UPDATE tallies SET count = count - 1 WHERE (scope, kind, status, embedded_by) = (old.scope, old.kind, old.status, ifnull(old.embedded_by, '')); DELETE FROM tallies WHERE count = 0 AND (scope, kind, status, embedded_by) = (old.scope, old.kind, old.status, ifnull(old.embedded_by, '')); END;
CREATE TRIGGER count_erased BEFORE DELETE ON memories BEGIN DELETE FROM memory_tags WHERE number = old.number; INSERT OR REPLACE INTO usage_changes (id) SELECT id FROM memories WHERE number = old.number AND (EXISTS (SELECT 1 FROM usage WHERE number = old.number) OR EXISTS (SELECT 1 FROM activations WHERE number = old.number)); UPDATE tallies SET count = count - 1 WHERE (scope, kind, status, embedded_by) = (old.scope, old.kind, old.status, ifnull(old.embedded_by, '')); DELETE FROM tallies WHERE count = 0 AND (scope, kind, status, embedded_by) = (old.scope, old.kind, old.status, ifnull(old.embedded_by, '')); END;
CREATE TRIGGER count_stored AFTER INSERT ON memories BEGIN INSERT INTO tallies VALUES (new.scope, new.kind, new.status, ifnull(new.embedded_by, ''), 1) ON CONFLICT DO UPDATE SET count = count + 1; END;
CREATE INDEX memories_by_content ON memories (content_hash);
CREATE INDEX memories_by_conversation ON memories (conversation_id, happened_at, id)
    WHERE conversation_id IS NOT NULL;
CREATE INDEX memories_by_embedding ON memories (embedded_by, status = 'forgotten', sequence);
CREATE INDEX memories_by_end ON memories (scope, happened_at, id) WHERE valid_to IS NOT NULL AND status = 'current' AND tags <> '[]';
CREATE INDEX memories_by_ending ON memories (substr(id, -8));
CREATE UNIQUE INDEX memories_by_id ON memories (id);
CREATE INDEX memories_by_key ON memories ("key") WHERE "key" IS NOT NULL;
CREATE INDEX memories_by_kind ON memories (kind, happened_at, id) WHERE kind NOT IN ('message', 'note');
CREATE INDEX memories_by_scope ON memories (scope, happened_at, id, kind, status);
CREATE INDEX memories_by_time ON memories (happened_at, id, kind);
CREATE TABLE memory_tags (
    folded TEXT NOT NULL,
    happened_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    number INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    PRIMARY KEY (folded, happened_at, id)
) STRICT, WITHOUT ROWID;
INSERT INTO memory_tags VALUES('plan',1780650002000000,'deadline',1);
CREATE TRIGGER count_tagged AFTER INSERT ON memory_tags BEGIN INSERT INTO tag_tallies SELECT scope, new.folded, 1 FROM (SELECT scope FROM memories m WHERE m.number = new.number AND m.status = 'current' AND m.valid_to IS NULL AND NOT (m.kind = 'summary' AND m.origin = 'dream' AND ifnull(json_type(m.context, '$.dreamed'), '') = 'object')) WHERE true ON CONFLICT DO UPDATE SET count = count + 1; END;
CREATE TRIGGER count_untagged AFTER DELETE ON memory_tags BEGIN UPDATE tag_tallies SET count = count - 1 WHERE folded = old.folded AND scope = (SELECT scope FROM memories m WHERE m.number = old.number AND m.status = 'current' AND m.valid_to IS NULL AND NOT (m.kind = 'summary' AND m.origin = 'dream' AND ifnull(json_type(m.context, '$.dreamed'), '') = 'object')); DELETE FROM tag_tallies WHERE count = 0 AND folded = old.folded AND scope = (SELECT scope FROM memories m WHERE m.number = old.number AND m.status = 'current' AND m.valid_to IS NULL AND NOT (m.kind = 'summary' AND m.origin = 'dream' AND ifnull(json_type(m.context, '$.dreamed'), '') = 'object')); END;
CREATE INDEX memory_tags_by_memory ON memory_tags (number);
CREATE TABLE revisions (
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (id, revision)
) STRICT;
INSERT INTO revisions VALUES('deadline',1,'{"id":"deadline","text":"The deadline of project Apollo is June 5","kind":"note","title":null,"scope":"apollo","tags":["plan"],"context":{},"conversation_id":null,"speaker":null,"origin":"user","happened_at":"2026-06-05T09:00:02Z","stored_at":"2026-06-05T09:00:02Z","valid_from":null,"valid_to":null,"key":null,"status":"current","important":false,"sources":[],"attachments":[],"revision":1}',X'E8ED4C797D211E2EF9CC0E4E29AE4CA6');
CREATE TRIGGER count_revised AFTER INSERT ON revisions BEGIN UPDATE totals SET count = count + 1 WHERE part = 'revisions'; END;
CREATE TRIGGER count_unrevised AFTER DELETE ON revisions BEGIN UPDATE totals SET count = count - 1 WHERE part = 'revisions'; END;
CREATE TABLE scopes (
    name TEXT PRIMARY KEY NOT NULL,
    description TEXT NOT NULL,
    parent TEXT,
    keywords TEXT NOT NULL,
    active INTEGER NOT NULL,
    sensitivity TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO scopes VALUES('apollo','the project',NULL,'[]',1,'normal',X'C3A565E376BCCF61E6E9F2B44B093371');
CREATE TABLE tag_tallies (scope TEXT NOT NULL, folded TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (scope, folded)) STRICT, WITHOUT ROWID;
INSERT INTO tag_tallies VALUES('apollo','plan',1);
CREATE TABLE tallies (scope TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, embedded_by TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (scope, kind, status, embedded_by)) STRICT, WITHOUT ROWID;
INSERT INTO tallies VALUES('Global','fact','current','hashing-8',1);
INSERT INTO tallies VALUES('apollo','note','current','hashing-8',1);
CREATE TABLE totals (part TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (part)) STRICT, WITHOUT ROWID;
INSERT INTO totals VALUES('links',0);
INSERT INTO totals VALUES('revisions',1);
CREATE TABLE usage (
    number INTEGER PRIMARY KEY REFERENCES memories (number) ON DELETE CASCADE,
    count INTEGER NOT NULL,
    last INTEGER NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO usage VALUES(1,3,1780650000000000,X'03EF260A17ED808980122F3A7D6DF161');
INSERT INTO usage VALUES(2,1,1780650000000000,X'EBDB30E870A0695F0F146D88B031B2E1');
CREATE TRIGGER note_usage AFTER INSERT ON usage BEGIN INSERT OR REPLACE INTO usage_changes (id) SELECT id FROM memories WHERE number = new.number; END;
CREATE TABLE usage_changes (change INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE vectors (
    number INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    spans BLOB NOT NULL,
    vectors BLOB NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (number, model)
) STRICT;
INSERT INTO vectors VALUES(1,'hashing-8',8,X'0000000029000000',X'0000000077D688BE77D6883E77D688BE0000000077D688BEB2414DBF77D6883E',X'7E0A828D0480037AC5240AE6F09FA4F5');
INSERT INTO vectors VALUES(2,'hashing-8',8,X'0000000013000000',X'000000BF0000003F000000000000000000000000000000BF0000003F00000000',X'CD9C9EC9775FE12784090FF37FCB786F');
pragma user_version=4;
pragma application_id=1229800781;
COMMIT TRANSACTION;
