"""A server that speaks TLS alone, with certificates that are made for the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from attrs import frozen
from mongo_servers import Deployment, deployment

from infinite_memory import Config, ConfigurationError, MemoryStore, StorageUnavailable
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.slow("mongodb")

SECRET = "hunter2"


@frozen
class Guarded:
    """A server that wants a certificate of each client, and the folder of all certificates."""

    servers: Deployment
    folder: Path

    def address(self, *options: str, seconds: int = 4) -> str:
        waits = f"serverSelectionTimeoutMS={seconds * 1000}"
        every = "&".join([waits, *options]).replace("PEM/", f"{self.folder}/")
        return f"mongodb://writer:{SECRET}@{self.servers.members[0].host}/guarded?{every}"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    trustme.CA().cert_pem.write_to_path(folder / "stranger.pem")
    for name in ("server", "client"):
        pair = authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem
        pair.write_to_path(folder / f"{name}.pem")
    (folder / "none.pem").write_text("this is no certificate")
    trusts = ("--tlsCAFile", str(folder / "authority.pem"))
    shows = ("--tlsCertificateKeyFile", str(folder / "server.pem"))
    options = (
        f"&tls=true&tlsCAFile={folder}/authority.pem&tlsCertificateKeyFile={folder}/client.pem"
    )
    extra = ("--tlsMode", "requireTLS", *trusts, *shows)
    with deployment(1, extra=extra, options=options) as servers:
        with servers.members[0].client() as client:
            roles = [{"role": "readWrite", "db": "guarded"}]
            client["guarded"].command("createUser", "writer", pwd=SECRET, roles=roles)
        yield Guarded(servers, folder)


def test_what_is_stored_over_tls_is_found_again(guarded: Guarded, tmp_path: Path) -> None:
    whole = ("tls=true", "tlsCAFile=PEM/authority.pem", "tlsCertificateKeyFile=PEM/client.pem")
    for round_trip in range(2):
        config = Config(home=tmp_path)
        address = guarded.address(*whole, seconds=60)
        with MemoryStore.open(address, config=config, embedder=HashingEmbedder()) as store:
            if round_trip == 0:
                store.remember("the harbour is closed on Mondays", id="a")
            assert [hit.memory.id for hit in store.search("when is the harbour closed?")] == ["a"]


@pytest.mark.parametrize(
    "options",
    [
        ("tls=true",),
        ("tls=true", "tlsCAFile=PEM/stranger.pem", "tlsCertificateKeyFile=PEM/client.pem"),
    ],
    ids=["no authority", "another authority"],
)
def test_a_server_that_is_not_trusted_is_refused(
    guarded: Guarded, options: tuple[str, ...]
) -> None:
    with pytest.raises(StorageUnavailable, match=r"reached over TLS .*tlsCAFile") as caught:
        open_mongodb(guarded.address(*options))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [(), ("tls=true", "tlsCAFile=PEM/authority.pem")],
    ids=["no TLS", "no certificate of the client"],
)
def test_a_client_that_the_server_does_not_take_is_told_so(
    guarded: Guarded, options: tuple[str, ...]
) -> None:
    with pytest.raises(StorageUnavailable, match=r"cannot be reached .*connection closed"):
        open_mongodb(guarded.address(*options))


@pytest.mark.parametrize("name", ["missing.pem", "none.pem"])
@pytest.mark.parametrize("option", ["tlsCAFile", "tlsCertificateKeyFile"])
def test_a_certificate_that_is_none_is_a_mistake_of_the_address(
    guarded: Guarded, option: str, name: str
) -> None:
    with pytest.raises(ConfigurationError, match="cannot be used"):
        open_mongodb(guarded.address("tls=true", f"{option}=PEM/{name}"))
