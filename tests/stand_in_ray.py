"""What the engine of Ray uses of Ray, in this process: tasks run when their results are asked for."""

import pickle
from types import SimpleNamespace

__name__ = "ray"


class Remote:
    """A function that is called elsewhere: what comes and goes is pickled."""

    def __init__(self, function, **options):
        self.function = function
        self.given = options

    def options(self, **options):
        """Return the function with other options."""
        return Remote(self.function, **options)

    def remote(self, *arguments):
        """Send a call."""
        packed = pickle.dumps(arguments)
        call = SimpleNamespace(function=self.function, packed=packed, given=self.given)
        sent.append(call)
        return call


sent = []
cancelled = []
remote = Remote


def get(call):
    """Return the result of a call."""
    return pickle.loads(pickle.dumps(call.function(*pickle.loads(call.packed))))


def cancel(call):
    """Leave a call out."""
    cancelled.append(call)


def is_initialized():
    """Return whether there is a cluster."""
    return True


def cluster_resources():
    """Return what the cluster has."""
    return {"CPU": 2.0, "memory": 4e9}


def nodes():
    """Return two machines that work, one that has gone, and one without a CPU."""
    machines = [(True, 2.0, 4e9), (True, 4.0, 6e9), (False, 0.0, 0.0), (True, 0.0, 1e9)]
    return [
        {
            "Alive": is_alive,
            "NodeManagerAddress": f"10.0.0.{number}",
            "Resources": {f"node:10.0.0.{number}": 1.0}
            | {name: amount for name, amount in (("CPU", n_cpus), ("memory", memory)) if amount},
        }
        for number, (is_alive, n_cpus, memory) in enumerate(machines)
    ]
