import math

import pytest

from sizewise.diagnosis.advice import advise
from sizewise.diagnosis.collected import Gain


def answers(**gains):
    error = gains.pop("error", 0.001)
    return {name: Gain(0.8 + gain, gain, error) for name, gain in {"now": 0.0, **gains}.items()}


@pytest.mark.parametrize(
    ("gains", "step", "said"),
    [
        ({"dice": 0.02, "sizes": 0.05, "matched": 0.1}, "decision", "decided for Dice gives +2.00 ± 0.10 DSC points"),
        ({"dice": 0.01, "fitted": 0.02, "sizes": 0.05, "matched": 0.1}, "fitted decision", "at a fitted temperature"),
        ({"dice": 0.02, "fitted": 0.018, "sizes": 0.05, "matched": 0.1}, "fitted decision", "+1.80"),
        ({"dice": 0.03, "fitted": 0.018, "sizes": 0.05, "matched": 0.1}, "decision", "+3.00"),
        ({"dice": 0.001, "sizes": 0.06, "matched": 0.1}, "loss", "regions are 7.0 % too small on average"),
        ({"dice": 0.001, "sizes": 0.02, "matched": 0.1}, "network", "where the regions lie (+10.00 ± 0.10)"),
        ({"dice": 0.001, "sizes": 0.002, "matched": 0.001}, "nothing", "no part gives half a DSC point"),
        ({"dice": 0.02, "sizes": 0.05, "matched": 0.1, "error": 0.06}, "nothing", "Diagnose more cases"),
        ({"dice": 0.02, "sizes": 0.05, "matched": 0.1, "error": math.nan}, "nothing", "Diagnose more cases"),
        (
            {"matched": 0.15},
            "probabilities",
            "5.0 are lost by wrong sizes and 15.0 by wrong places, so where the regions lie matters more",
        ),
        (
            {"matched": 0.04},
            "probabilities",
            "16.0 are lost by wrong sizes and 4.0 by wrong places, so the sizes matter more",
        ),
    ],
)
def test_what_to_change_first(gains, step, said):
    found = advise(answers(**gains), relative_size=-0.07)
    assert found.step == step
    assert said in found.sentence
    assert len(found.reasons) == len([name for name in gains if name != "error"])


@pytest.mark.parametrize("more", [{}, {"dice": 0.0, "sizes": 0.0}])
def test_where_nothing_is_missing_nothing_is_asked_for(more):
    gains = {name: Gain(0.996, 0.0, 0.0) for name in ("now", *more, "matched")}
    found = advise(gains, relative_size=0.0)
    assert (found.step, found.sentence) == ("nothing", "Nothing here is worth a change: the DSC is 99.60 %.")
