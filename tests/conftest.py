"""Fixtures of the whole suite: one finished tiny bundle, and identities with a sealed PDF, made once."""

from __future__ import annotations

import pytest
from attest_examples import SIGNED_AT, tiny_pdf
from fakes import FakeLoader, Finished, load_job, write_spec

from safetyrepro.attest.keys import SigningIdentity, new_identity
from safetyrepro.run.engine import run_experiment
from safetyrepro.run.progress import Silent


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A complete bundle of 3 models x 2 templates x 4 rules over 12 twins. Read it, never write into it."""
    folder = tmp_path_factory.mktemp("finished")
    spec = write_spec(folder / "spec")
    job = load_job(spec, out_dir=folder / "runs")
    return Finished(spec, job, run_experiment(job, loader=FakeLoader(), progress=Silent()))


@pytest.fixture(scope="session")
def alice() -> SigningIdentity:
    return new_identity("Alice Example <alice@example.org>", created_at=SIGNED_AT)


@pytest.fixture(scope="session")
def mallory() -> SigningIdentity:
    return new_identity("Mallory", created_at=SIGNED_AT)


@pytest.fixture(scope="session")
def unsigned_pdf() -> bytes:
    return tiny_pdf()


@pytest.fixture(scope="session")
def sealed_pdf(unsigned_pdf: bytes, alice: SigningIdentity) -> bytes:
    from safetyrepro.attest.pdf_signature import sign_pdf

    return sign_pdf(unsigned_pdf, identity=alice, signed_at=SIGNED_AT)
