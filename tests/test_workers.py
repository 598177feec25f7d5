"""Pools of workers: in this process, in others, in Ray's actors."""

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from processes import is_alive, wait_for
from workers_for_tests import Adder, Slow, exits, refused

from agents.core import workers
from agents.core.workers import ATTEMPTS, Limits, LocalPool, Lost, ProcessPool, StartError

IGNORED = "DeprecationWarning FutureWarning ResourceWarning pytest.PytestUnraisableExceptionWarning"
WITH_RAY = pytest.mark.filterwarnings(*(f"ignore::{kind}" for kind in IGNORED.split()))


@pytest.fixture(scope="module")
def ray_of_two():
    """Ray on two processors."""
    ray = pytest.importorskip("ray", reason="the extra distributed is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


@pytest.fixture(params=["processes", pytest.param("ray", marks=WITH_RAY)])
def new_pool(request):
    """Makes pools of two workers, which are closed after the test."""
    pools = []

    def new(make=Adder, limits=Limits()):  # noqa: B008
        if request.param == "ray":
            from agents.core.ray_workers import RayPool

            request.getfixturevalue("ray_of_two")
            pools.append(RayPool(make, 2, limits))
        else:
            pools.append(ProcessPool(make, 2, limits, ATTEMPTS))
        return pools[-1]

    yield new
    for pool in pools:
        pool.close()


def collected(pool, tasks):
    pool.submit(tasks)
    return pool.collect()


def outcomes(pool, tasks):
    """The outcomes in the order of the tasks; lost ones by their reasons."""
    found = {task: getattr(outcome, "reason", outcome) for task, outcome in pool.each(tasks)}
    assert set(found) == set(tasks)
    return [found[task] for task in tasks]


def test_tasks_are_done_in_processes_of_their_own(new_pool):
    pool = new_pool()
    pool.share(100)
    assert collected(pool, range(5)) == [100, 101, 102, 103, 104]
    pool.share(10)
    assert collected(pool, [1, 2]) == [11, 12]
    assert outcomes(pool, range(7)) == list(range(10, 17))
    assert outcomes(pool, []) == []
    processes = set(collected(pool, ["pid"] * 4))
    assert os.getpid() not in processes
    assert len(processes) <= 2


def test_a_pool_in_this_process_does_the_same():
    with closing(LocalPool(Adder)) as pool:
        pool.share(100)
        assert collected(pool, range(3)) == [100, 101, 102]
        assert outcomes(pool, [4, 5]) == [104, 105]
        assert collected(pool, ["pid", "done"]) == [os.getpid(), 7]


def test_a_death_loses_one_task_alone(new_pool):
    pool = new_pool()
    found = outcomes(pool, [0, "die", 2, "crash", 4, 5])
    assert [found[number] for number in (0, 2, 4, 5)] == [0, 2, 4, 5]
    assert all(isinstance(found[number], str) for number in (1, 3))
    with pytest.raises(ChildProcessError, match=f"{ATTEMPTS} times"):
        collected(pool, ["die"])  # one that always kills its worker


def test_collect_has_lost_tasks_done_again(new_pool, tmp_path):
    pool = new_pool(functools.partial(Adder, str(tmp_path)))
    pool.share(7)
    assert collected(pool, ["once a", 1, "once b", 2]) == ["a", 8, "b", 9]
    assert collected(pool, [3]) == [10]


def test_a_task_may_take_its_time_and_no_more(new_pool):
    found = outcomes(new_pool(limits=Limits(60, 0.5)), [1, "hang", 2])
    assert found[::2] == [1, 2]
    assert "took longer than 0.5 s" in found[1]


def test_preparing_has_a_limit_of_its_own():
    with closing(ProcessPool(Slow, 1, Limits(60, 0.01))) as pool:
        assert list(pool.each([0.1])) == [(0.1, None)]
        pool._limits = Limits(0.1, 60)  # after the start, which may take long
        ((_, lost),) = pool.each([1000])
    assert lost == Lost("it took longer than 0.1 s")


@pytest.mark.parametrize(
    ("task", "error", "text"),
    [("raise no", ValueError, "no"), ("exit 3", SystemExit, "3"), ("odd", RuntimeError, "Odd"),
     ("local", RuntimeError, "Local")],
)  # fmt: skip
def test_what_a_task_raises_is_raised_here(new_pool, task, error, text):
    with pytest.raises(error, match=text) as found:
        collected(new_pool(), [task])
    notes = "".join(found.value.__notes__)
    assert "in a worker" in notes
    assert "workers_for_tests" in notes


@pytest.mark.parametrize("local", [False, True])
def test_tasks_of_a_call_that_failed_are_dropped(new_pool, local):
    pool = LocalPool(Adder) if local else new_pool()
    for failing in (["raise no", "raise late", 1, 2, 3], ["slow 0.2", "raise no", "raise late"]):
        with pytest.raises(ValueError, match=r"no|late"):
            collected(pool, failing)
        assert collected(pool, [10, 11, 12]) == [10, 11, 12]
        with pytest.raises(ValueError, match=r"no|late"):
            outcomes(pool, failing)
        assert outcomes(pool, [20, 21, 22]) == [20, 21, 22]


def test_tasks_left_behind_are_nobodys_results(new_pool):
    pool = new_pool()
    for task, outcome in pool.each([1, 2, 3, 4]):
        assert task == outcome
        break
    assert collected(pool, [5, 6, 7]) == [5, 6, 7]
    left = pool.each([1, 2, 3, 4])
    next(left)
    pool.submit([8, 9])
    with pytest.raises(RuntimeError, match="new ones"):
        list(left)
    assert pool.collect() == [8, 9]
    with pytest.raises(RuntimeError, match="submitted"):
        pool.collect()


@pytest.mark.parametrize("pool", [LocalPool(Adder), ProcessPool(Adder, 2)])
def test_a_closed_pool_has_no_tasks(pool):
    pool.submit([1, 2, 3])
    pool.close()
    assert pool.wait() == []
    assert pool._waiting == workers.deque()
    with pytest.raises(RuntimeError, match="submitted"):
        pool.collect()
    assert collected(pool, [4]) == [4]
    assert pool.wait() == []
    pool.close()


def test_a_worker_that_cannot_be_made_says_why(new_pool):
    with pytest.raises(ValueError, match="another device"):
        collected(new_pool(refused), [1])
    pool = new_pool(exits)
    assert [type(outcome) for _, outcome in pool.each([1])] == [Lost]


def test_starts_that_fail_are_counted_beyond_the_limit(monkeypatch):
    monkeypatch.setattr(workers, "_serve", exits_at_once)
    with closing(ProcessPool(Adder, 1)) as pool:
        for _ in range(2):
            with pytest.raises(StartError, match="status 4"):
                next(pool.each([1]))


def exits_at_once(pipe, make):
    os._exit(4)


def test_workers_outlive_the_thread_that_first_used_them():
    with closing(ProcessPool(Adder, 1)) as pool:
        found = []
        thread = threading.Thread(target=lambda: found.extend(collected(pool, ["pid"])))
        thread.start()
        thread.join()
        time.sleep(0.2)
        assert outcomes(pool, ["pid"]) == found


def test_an_idle_worker_that_was_killed_loses_no_task():
    with closing(ProcessPool(Adder, 1)) as pool:
        (worker,) = collected(pool, ["pid"])
        os.kill(worker, signal.SIGKILL)
        pool._processes[0].process.join()
        assert outcomes(pool, [1, 2]) == [1, 2]


def test_ctrl_c_during_a_start_leaves_the_environment_as_it_was(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    before = dict(os.environ)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a shell ignore it
    try:
        with pytest.raises(KeyboardInterrupt), workers._worker_environment():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert dict(os.environ) == before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@WITH_RAY
def test_ray_is_stopped_if_the_pool_cannot_be_made(monkeypatch):
    ray = pytest.importorskip("ray", reason="the extra distributed is not installed")
    from agents.core.ray_workers import RayPool

    started = []
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: started.append(True))
    monkeypatch.setattr(ray, "shutdown", started.pop)
    monkeypatch.setattr(ray, "cluster_resources", dict)
    with pytest.raises(TypeError, match="pickle"):
        RayPool(functools.partial(Adder, threading.Lock()))
    assert not started


@WITH_RAY
def test_a_live_actor_does_the_tasks_of_one_that_finds_no_machine(ray_of_two):
    from agents.core.ray_workers import RayPool

    with closing(RayPool(Adder, 2)) as pool:
        assert collected(pool, [1, 2]) == [1, 2]
        pool._claims["num_cpus"] = 99.0  # of the replacement
        assert collected(pool, ["pid", 3])[1] == 3
        ray_of_two.kill(pool.actors()[0])
        assert collected(pool, [4, 5, 6]) == [4, 5, 6]
        assert len(pool.actors()) == 2
        assert pool.resources["CPU"] == 2
        assert RayPool(Adder).workers == RayPool(Adder, 5).workers == 2
    assert ray_of_two.is_initialized()


SCRIPT = """
import sys, time
from agents.core.workers import ProcessPool
from processes import is_alive, wait_for
from workers_for_tests import Adder

if __name__ == "__main__" or "unguarded" in sys.argv:
    pool = ProcessPool(Adder, 2)
    pool.submit(["pid", "print"])
    print(pool.collect()[0], flush=True)
    time.sleep(100)
"""


def script(tmp_path, *arguments):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, path, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )


def test_workers_end_with_a_killed_parent_and_print_to_standard_error(tmp_path):
    process = script(tmp_path)
    worker = int(process.stdout.readline())
    os.kill(worker, 0)
    process.kill()
    printed, errors = process.communicate(timeout=60)
    assert printed == ""
    assert "from a worker" in errors
    wait_for(lambda: not is_alive(worker), 20)


def test_processes_that_cannot_start_are_explained(tmp_path):
    process = script(tmp_path, "unguarded")
    printed, errors = process.communicate(timeout=120)
    assert (process.returncode, printed) == (1, "")
    assert 'needs its own code under if __name__ == "__main__"' in errors
