"""After a correction, the other steps use the corrected address and key."""

from readback.probe.common.results import Verdict
from readback.probe.entered.key import Secret
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport.context import ProbeContext
from tests.support.server import Server


def test_every_step_after_the_mistakes_works(readback: Server) -> None:
    context = ProbeContext(
        f'export OPENAI_BASE_URL="{readback.base_url}/models",',
        Secret(
            f"Authorization: Bearer «{readback.api_key[:20]}\n{readback.api_key[20:]}»"
        ),
    )
    report = ProbeRun(context).run(STEPS)
    found = [
        (result.step, result.diagnosis.id)
        for result in report.results
        if result.diagnosis.verdict in (Verdict.FAIL, Verdict.WARN)
    ]
    assert found == [
        ("address", "address.corrected"),
        ("key", "key.corrected"),
    ]
    assert report.base_url == readback.base_url


def test_the_advice_names_the_address_that_a_later_step_corrected(
    readback: Server,
) -> None:
    entered = f"OPENAI_BASE_URL={readback.base_url.removesuffix('/v1')}"
    context = ProbeContext(entered, Secret(readback.api_key))
    report = ProbeRun(context).run(STEPS)
    advice = {result.diagnosis.id: result.diagnosis.hint for result in report.results}
    assert f"Use {readback.base_url};" in advice["address.corrected"]
