"""Chunks side by side: the same bits however many threads, errors in order, nothing left changed behind."""

import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import sizewise as sw
from sizewise.stats import reference, workers
from sizewise.stats.workers import map_chunks


@pytest.fixture
def threads():
    """Sets torch's number of threads for one test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr("sizewise.stats.reference.chunk_elements", lambda elements, threads, regions: 256)


@pytest.mark.parametrize("classes", [2, 3, 12])
def test_the_same_bits_for_any_number_of_threads(threads, small_chunks, classes):
    torch.manual_seed(0)
    logits, target = torch.randn(3, classes, 40, 30), torch.randint(0, classes, (3, 40, 30))
    found = []
    for count in (1, 2, 4, 4):
        threads(count)
        leaf = logits.clone().requires_grad_()
        loss = sw.loss("LogDiceFL", ignore_index=0)(leaf, target)
        loss.backward()
        found.append((loss.detach(), leaf.grad))
    for loss, gradient in found[1:]:
        assert torch.equal(loss, found[0][0])
        assert torch.equal(gradient, found[0][1])


def test_torchs_number_of_threads_is_never_touched(threads, small_chunks, monkeypatch):
    threads(3)
    monkeypatch.setattr(torch, "set_num_threads", lambda count: pytest.fail("that changes the whole process"))
    inside = []
    monkeypatch.setattr(workers, "_pools", {})  # so that the threads are started here
    map_chunks(lambda item, _: inside.append(torch.get_num_threads()), list(range(20)), dict)
    assert set(inside) == {1}
    # nor does any thread that starts meanwhile take a wrong number over
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == torch.get_num_threads() == 3


def test_where_no_thread_can_be_told_chunks_run_one_after_the_other(threads, monkeypatch):
    threads(2)
    monkeypatch.setattr(workers, "can_use_one_core", lambda: False)
    names = set(map_chunks(lambda item, _: threading.current_thread().name, list(range(20)), dict))
    assert names == {threading.current_thread().name}


def test_a_wrong_label_in_a_later_chunk_is_found_and_the_next_call_works(threads, small_chunks):
    threads(2)
    logits, target = torch.randn(2, 3, 40, 30), torch.randint(0, 3, (2, 40, 30))
    wrong = target.clone()
    wrong[1, 39, 29] = 77
    with pytest.raises(ValueError, match="the label 77"):
        sw.loss("RCE")(logits, wrong)
    assert torch.isfinite(sw.loss("RCE")(logits, target))


def test_errors_come_from_the_first_item_that_fails(threads):
    threads(2)

    def fail(item, _):
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        map_chunks(fail, list(range(20)), dict)


def test_autocast_and_inference_mode_reach_the_threads(threads, small_chunks):
    threads(2)
    logits, target = torch.randn(1, 3, 40, 30), torch.randint(0, 3, (1, 40, 30))
    expected = sw.loss("RCE")(logits, target)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(sw.loss("RCE")(logits, target), expected)
    with torch.inference_mode():
        assert torch.equal(sw.loss("RCE")(logits.clone(), target.clone()), expected)


def loss_in_child(queue):
    reference.chunk_elements = lambda elements, threads, regions: 256
    torch.set_num_threads(2)
    queue.put(float(sw.loss("RCE")(torch.zeros(1, 3, 64, 64), torch.zeros(1, 64, 64, dtype=torch.long))))


def test_a_fork_gets_threads_of_its_own():
    """As in a data loader's worker, after the parent has used its threads.

    The image is small: torch's own parallel loops, which large ones run in, hang after a fork whatever we do.
    """
    code = (
        "import multiprocessing\n"
        "from tests.stats.test_workers import loss_in_child\n"
        "context = multiprocessing.get_context('fork')\n"
        "queue = context.Queue()\n"
        "loss_in_child(queue); queue.get()\n"
        "child = context.Process(target=loss_in_child, args=(queue,)); child.start()\n"
        "print(queue.get(timeout=600)); child.join()\n"
    )
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) == pytest.approx(math.log(3) + (2 / 3 + 1 / 3 + 1 / 3) / 3)


def test_a_lock_that_was_held_while_forking_does_not_hang_the_child():
    code = (
        "import os, sys, torch\n"
        "import sizewise.stats.workers as workers\n"
        "torch.set_num_threads(2)\n"
        "workers._lock.acquire()  # another thread of the parent has it just now\n"
        "if os.fork() == 0:\n"
        "    print(workers.map_chunks(lambda item, state: item + state, [1, 2, 3], lambda: 10), flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=600)
    assert result.stdout == "[11, 12, 13]\n", result.stderr


@pytest.mark.parametrize("started", [0, 1])
def test_where_no_thread_can_be_started_the_work_is_done_all_the_same(monkeypatch, started):
    from concurrent.futures import ThreadPoolExecutor

    from sizewise.stats import workers

    class Full(ThreadPoolExecutor):
        left = started

        def submit(self, *given, **named):
            self.left -= 1
            if self.left < 0:
                raise RuntimeError("can't start new thread")
            return super().submit(*given, **named)

    monkeypatch.setattr(workers, "_pool", lambda threads: Full(threads))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    monkeypatch.setattr(workers, "can_use_one_core", lambda: True)
    assert workers.map_chunks(lambda item, state: item + state, [1, 2, 3], lambda: 10) == [11, 12, 13]
