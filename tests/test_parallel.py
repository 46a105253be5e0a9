"""Threads and processes end with the work, however it ends."""

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.process import BaseProcess

import pytest

from sizewise.errors import BadInput
from sizewise.parallel import map_ahead, map_in_processes, worker_pool


def double(number):
    if number == 13:
        raise BadInput("13 is no number to double.")
    if number == 99:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


@pytest.fixture(autouse=True)
def no_child_is_left():
    yield
    assert multiprocessing.active_children() == []


def test_results_come_in_order():
    assert list(map_in_processes(double, range(12), jobs=2)) == [2 * n for n in range(12)]


def test_an_error_ends_the_workers_before_it_is_told():
    with pytest.raises(BadInput, match="13 is no number"):
        list(map_in_processes(double, range(40), jobs=2))
    assert multiprocessing.active_children() == []


def test_leaving_the_loop_ends_them_too():
    results = map_in_processes(double, range(12), jobs=2)
    assert next(results) == 0
    results.close()
    assert multiprocessing.active_children() == []


def lingers(number):
    time.sleep(3600 * number)


def test_workers_that_end_before_their_pool_knows_leave_no_traceback(monkeypatch):
    """As on a busy machine: the pool's thread sees them gone before it hears that nobody wants their work."""
    terminate = BaseProcess.terminate

    def and_wait(worker):
        terminate(worker)
        for thread in threading.enumerate():
            if "Executor" in type(thread).__name__ and thread is not threading.current_thread():
                thread.join()

    monkeypatch.setattr(BaseProcess, "terminate", and_wait)
    fell = []
    monkeypatch.setattr(threading, "excepthook", fell.append)
    results = map_in_processes(lingers, range(12), jobs=2)
    assert next(results) is None
    results.close()
    assert not fell


def test_a_worker_that_is_killed_is_a_sentence():
    with pytest.raises(
        BadInput, match=r"a worker process was killed, most likely for lack of memory\. Use fewer than 2"
    ):
        list(map_in_processes(double, [1, 99, 2, 3], jobs=2))


def test_a_pool_whose_own_thread_cannot_start_leaves_no_worker(monkeypatch):
    """The interpreter would wait for them at its end, and they for work."""
    start = ProcessPoolExecutor._start_executor_manager_thread

    def fails(self):
        self._launch_processes() if hasattr(self, "_launch_processes") else start(self)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ProcessPoolExecutor, "_start_executor_manager_thread", fails)
    with pytest.raises(RuntimeError, match="can't start"), worker_pool(2, "spawn") as pool:
        pool.submit(double, 1)
    for child in multiprocessing.active_children():
        child.join()


def test_without_another_thread_the_work_is_done_here():
    class Full(ThreadPoolExecutor):
        def submit(self, *given, **named):
            raise RuntimeError("can't start new thread")

    assert list(map_ahead(abs, [-1, 2, -3], threads=2, make_pool=Full)) == [1, 2, 3]
