"""A SLURM of one machine, with Debian's slurm-wlm and munge, started for a test and ended after it.

    with running_slurm(folder) as environment: ...

``environment`` are the variables that make sbatch, srun and squeue talk to it.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "sinfo", "scancel")
CONFIG = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket,cred_expire=10
SlurmUser=root
SlurmdUser=root
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
JobRequeue=1
KillWait=5
SchedulerParameters=requeue_setup_env_fail,sched_interval=2,batch_sched_delay=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Why it cannot be started here; empty where it can."""
    if os.geteuid() != 0:
        return "slurmd has to be started by root"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{', '.join(missing)} not installed: apt-get install slurm-wlm munge" if missing else ""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def running_slurm(root: Path):
    """Start munged, slurmctld and slurmd; raises RuntimeError with their logs where the node does not come up."""
    for name in ("state", "spool"):
        (root / name).mkdir(parents=True)
    root.chmod(0o755)
    host = socket.gethostname().split(".")[0]
    config = root / "slurm.conf"
    config.write_text(
        CONFIG.format(host=host, root=root, controller=free_port(), daemon=free_port(), cores=os.cpu_count() or 1)
    )
    key = root / "munge.key"
    subprocess.run(["mungekey", "--create", f"--keyfile={key}"], check=True)
    environment = os.environ | {"SLURM_CONF": str(config)}
    started = []

    def start(*command):
        log = open(root / f"{Path(command[0]).name}.out", "w")  # noqa: SIM115 the program keeps it
        started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT))
        log.close()

    try:
        munge = [
            f"--{name}={root}/munge.{name.partition('-')[0]}"
            for name in ("socket", "pid-file", "log-file", "seed-file")
        ]
        start("munged", "--foreground", "--force", f"--key-file={key}", *munge)
        wait_for(lambda: (root / "munge.socket").exists(), root)
        start("slurmctld", "-D", "-f", str(config))
        start("slurmd", "-D", "-f", str(config))
        wait_for(lambda: "idle" in asked(["sinfo", "--noheader", "--format=%t"], environment), root)
        yield environment
    finally:
        end_jobs(environment)
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def end_jobs(environment, seconds: float = 60) -> None:
    """None is left: without the daemons nobody would end them."""
    deadline = time.monotonic() + seconds
    with contextlib.suppress(subprocess.TimeoutExpired, OSError):  # a controller that never came up
        while asked(["squeue", "--noheader"], environment).strip() and time.monotonic() < deadline:
            asked(["scancel", f"--user={os.getuid()}"], environment)
            time.sleep(0.2)


def asked(command, environment) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30).stdout


def wait_for(condition, root: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            logs = "\n".join(
                f"{file.name}:\n{file.read_text()[-800:]}" for file in sorted(root.glob("*.[ol]*")) if file.is_file()
            )
            raise RuntimeError(f"SLURM did not come up:\n{logs}")
        time.sleep(0.2)
