"""Trained policies as laws: a dense net in a file, the same bits everywhere."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from narrows import _core
from narrows.errors import Error
from narrows.files import write_at_once
from narrows.law_files import FileLaw

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FORMAT = 1


class Policy(FileLaw):
    """A net that decides once an interval, as an agent of a preset does: a flow's ``cc``.

    Sums go in the order of inputs, in float32, with a tanh that is the same on every machine.

    Parameters
    ----------
    preset
        What it sees and does: ``"aurora"``, ``"orca"`` or ``"plain"``.
    layers
        Weights (outputs, inputs) and biases (outputs,) of each layer, the first first.
    activation
        Between two layers: ``"tanh"``, ``"relu"`` or ``"elu"``.
    normaliser
        What is taken off each input, and by what the rest is divided; nothing if None.
    name
        By which results call it, after ``policy:``.

    Raises
    ------
    Error
        If layers do not fit, or there is no such preset or activation.

    Examples
    --------
    A net that always says 0 keeps its rate:

    >>> import numpy as np
    >>> import narrows as nw
    >>> zero = nw.Policy("plain", [(np.zeros((1, 48)), np.zeros(1))], name="still")
    >>> result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", cc=zero, duration="2s"))
    >>> result.flows["cc"].to_list()
    ['policy:still']
    """

    kind = "policy"

    def __init__(
        self,
        preset: str,
        layers: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
        activation: str = "tanh",
        normaliser: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        name: str = "own",
    ) -> None:
        import numpy as np  # noqa: PLC0415

        super().__init__(name)
        self.preset, self.activation = preset, activation
        try:
            self.layers = [
                (np.asarray(weights, np.float32), np.asarray(biases, np.float32).ravel())
                for weights, biases in layers
            ]
        except (TypeError, ValueError) as error:
            raise Error(f"layers: not pairs of weights and biases: {error}") from None
        inputs: int | None = None
        for number, (weights, biases) in enumerate(self.layers):
            if weights.ndim != 2 or (len(biases), inputs or weights.shape[1]) != weights.shape:
                raise Error(
                    f"layers[{number}]: weights of shape {weights.shape} for {inputs or 'all'} "
                    f"inputs and {len(biases)} outputs; give (outputs, inputs)"
                )
            inputs = len(biases)
        parts = normaliser if normaliser is not None else ()
        self.normaliser = tuple(np.asarray(part, np.float32).ravel() for part in parts) or None
        self.net = _core.PolicyNet(
            preset,
            activation,
            [(weights.ravel().tolist(), biases.tolist()) for weights, biases in self.layers],
            [part.tolist() for part in self.normaliser] if self.normaliser else None,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made of."""
        given = (self.preset, self.layers, self.activation, self.normaliser, self.name)
        return Policy, given, {"path": self.path}

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same net under the same name."""
        if not isinstance(other, Policy):
            return NotImplemented
        return (self.name, self.digest) == (other.name, other.digest)

    def __hash__(self) -> int:
        """Hash name and weights."""
        return hash((self.name, self.digest))

    @property
    def digest(self) -> str:
        """SHA-256 of all that it is but its name."""
        parts = hashlib.sha256(f"{self.preset} {self.activation}".encode())
        for array in (part for layer in self.layers for part in layer):
            parts.update(f"{array.shape}".encode() + array.tobytes())
        for part in self.normaliser or ():
            parts.update(part.tobytes())
        return parts.hexdigest()

    def says(self, seen: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return what it says of what is seen.

        Parameters
        ----------
        seen
            Numbers (…, inputs), as an environment of its preset shows them.

        Returns
        -------
        ndarray
            float32 (…, 1).

        Examples
        --------
        >>> import numpy as np
        >>> policy = Policy("plain", [(np.full((1, 48), 0.5), np.zeros(1))])
        >>> float(policy.says(np.ones(48))[0])
        24.0
        """
        import numpy as np  # noqa: PLC0415

        array = np.ascontiguousarray(seen, np.float32)
        said = np.empty((*array.shape[:-1], 1), np.float32)
        self.net.says(array, said)
        return said

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Policy
            Named for its path, without the ending.

        Raises
        ------
        Error
            If it cannot be read, or is no policy.
        """
        import numpy as np  # noqa: PLC0415

        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise Error(f"{path}: {error.strerror}") from None
        try:
            loaded = np.load(io.BytesIO(data), allow_pickle=False)
            found = {name: loaded[name] for name in loaded.files}
            if int(found["format"]) != FORMAT:
                raise Error(f"it has format {found['format']}, and this version reads {FORMAT}")
            count = sum(re.fullmatch(r"w\d+", name) is not None for name in found)
            layers = [(found[f"w{number}"], found[f"b{number}"]) for number in range(count)]
            normaliser = (found["mean"], found["spread"]) if "mean" in found else None
            preset, activation = str(found["preset"]), str(found["activation"])
            name = str(path).removesuffix(".npz")
            policy = cls(preset, layers, activation, normaliser, name)
        except KeyError as error:
            raise Error(f"{path}: not a policy: there is no {error}") from None
        except Error as error:
            raise Error(f"{path}: {error}") from None
        except (AttributeError, ValueError, TypeError, EOFError, BadZipFile):
            raise Error(f"{path}: not a policy; write one with Policy.save") from None
        policy.path = str(path)
        return policy

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it, whole or not at all.

        Parameters
        ----------
        path
            A file of NumPy's arrays, ``.npz``: ``w0``, ``b0`` and so on, ``preset``,
            ``activation``, and ``mean`` and ``spread`` of the normaliser.
        """
        import numpy as np  # noqa: PLC0415

        arrays: dict[str, Any] = {
            "format": FORMAT,
            "preset": self.preset,
            "activation": self.activation,
        }
        for number, (weights, biases) in enumerate(self.layers):
            arrays |= {f"w{number}": weights, f"b{number}": biases}
        if self.normaliser is not None:
            arrays |= dict(zip(("mean", "spread"), self.normaliser, strict=True))
        data = io.BytesIO()
        np.savez(data, **arrays)
        write_at_once(Path(path), data.getvalue())

    @classmethod
    def from_sb3(cls, model: Any, preset: str, scale: float = 1.0, name: str = "own") -> Policy:
        """Take the actor of a model of stable-baselines3 with an ``MlpPolicy``.

        Parameters
        ----------
        model
            What was trained: PPO or A2C.
        preset
            What it saw and did.
        scale
            What its actions were multiplied by.
        name
            By which results call it.

        Returns
        -------
        Policy
            The mean of its actions.

        Raises
        ------
        Error
            If it has layers other than dense ones with one activation, is no actor of an
            ``MlpPolicy``, or saw normalised observations.
        """
        if getattr(model, "get_vec_normalize_env", lambda: None)() is not None:
            raise Error("model: it saw what VecNormalize made of observations; train without that")
        if not hasattr(model.policy, "mlp_extractor"):
            kind = type(model).__name__
            raise Error(f"model: {kind} has no actor that can be taken; PPO and A2C have")
        actor = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
        layers, names = [], set()
        for part in actor:
            kind = type(part).__name__
            if kind == "Linear":
                layers.append((part.weight.detach().numpy(), part.bias.detach().numpy()))
            else:
                names.add(kind.lower())
        if len(names) > 1 or not names <= {"tanh", "relu", "elu"}:
            raise Error(
                f"model: layers of {', '.join(sorted(names))}; dense ones with one of tanh, "
                "relu and elu can be taken"
            )
        weights, biases = layers[-1]
        layers[-1] = (scale * weights, scale * biases)
        return cls(preset, layers, names.pop() if names else "tanh", None, name)
