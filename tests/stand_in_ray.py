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
        call = SimpleNamespace(function=self.function, packed=pickle.dumps(arguments))
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
    return [
        {"Alive": True, "Resources": {"CPU": 2.0, "memory": 4e9}},
        {"Alive": True, "Resources": {"CPU": 4.0, "memory": 6e9}},
        {"Alive": False, "Resources": {}},
        {"Alive": True, "Resources": {"memory": 1e9}},
    ]
