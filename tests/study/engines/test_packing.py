"""When another process joins a study on a GPU: a question of numbers, so it is answered without one."""

import pytest

from sizewise.errors import BadInput
from sizewise.study.engines.packing import Memory, Moment, fits, gpu_for_another, parse_jobs

GIB = 2**30


def moment(**changes):
    """One GPU with one process, 16 cores, nine runs of a minute left."""
    return Moment(**({"cores": 16, "workers": (1,), "unfinished": 9, "seconds_left": 540.0} | changes))


def test_a_gpu_gets_at_most_three_processes():
    assert [gpu_for_another(moment(workers=(n,))) for n in (1, 2, 3, 4)] == [0, 0, None, None]


@pytest.mark.parametrize(("unfinished", "workers", "wanted"), [(1, 1, None), (2, 1, 0), (2, 2, None), (3, 2, 0)])
def test_there_is_a_run_for_every_process(unfinished, workers, wanted):
    assert gpu_for_another(moment(unfinished=unfinished, workers=(workers,))) == wanted


@pytest.mark.parametrize(("cores", "wanted"), [(1, None), (3, None), (4, 0)])
def test_every_process_has_two_cores(cores, wanted):
    assert gpu_for_another(moment(cores=cores)) == wanted


@pytest.mark.parametrize(("seconds", "wanted"), [(None, None), (29.0, None), (30.0, 0)])
def test_what_is_left_must_take_longer_than_a_start(seconds, wanted):
    assert gpu_for_another(moment(seconds_left=seconds)) == wanted


def test_several_gpus_are_filled_evenly_and_an_empty_one_at_once():
    assert gpu_for_another(moment(workers=(1, 0, 0), seconds_left=None)) == 1
    assert gpu_for_another(moment(workers=(1, 1, 0), seconds_left=None)) == 2
    assert gpu_for_another(moment(workers=(1, 1, 1), seconds_left=None)) is None
    assert gpu_for_another(moment(workers=(2, 1, 1))) == 1
    assert gpu_for_another(moment(workers=(2, 2, 2))) == 0
    assert gpu_for_another(moment(workers=(3, 3, 2), cores=16)) is None  # 8 processes of 2 cores


def test_without_a_gpu_nobody_joins():
    assert gpu_for_another(moment(workers=())) is None


@pytest.mark.parametrize(
    ("one", "most"),
    [(10, 3), (32, 3), (33, 2), (45, 2), (46, 1), (100, 1)],
)
def test_memory_decides_how_many(one, most):
    """Of 114 GiB: beside n processes, 114 − n·one must be at least 1.5·one, so one ≤ 45.6 for two, 32.57 for three."""
    workers = 1
    while workers < 3 and fits(
        Memory(free=(114 - one * workers) * GIB, total=114 * GIB, one=one * GIB), workers=workers
    ):
        workers += 1
    assert workers == most


def test_memory_that_a_starting_process_will_take_is_not_free():
    started = Memory(free=90 * GIB, total=140 * GIB, one=50 * GIB)
    assert fits(started, workers=1)  # 90 ≥ 1.5 · 50
    assert not fits(started, workers=2)  # the second will leave 140 − 2 · 50 = 40
    assert not fits(Memory(free=70 * GIB, total=140 * GIB, one=50 * GIB), workers=1)  # somebody else is there too


@pytest.mark.parametrize("word", ["0", "-1", "two", "", "1.5", "513", "²", "9" * 5000])
def test_other_words_are_refused(word):
    with pytest.raises(BadInput, match=r"`jobs` must be auto or a number from 1 to 512, got"):
        parse_jobs(word)


def test_words_and_numbers():
    assert [parse_jobs(word) for word in ("auto", "Auto", "3", 2)] == ["auto", "auto", 3, 2]
