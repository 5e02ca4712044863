"""Arithmetic on a point's values for sweep files, like `{20 * flows}p`."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from narrows.errors import SweepError
from narrows.sweeps.points import Point

# Powers beyond this are no setting, and take for ever to compute.
_LARGEST = 1e300


def _power(base: float, exponent: float) -> float | int:
    if abs(exponent) * math.log(max(abs(base), 2.0)) > math.log(_LARGEST):
        raise OverflowError("the power is too large")
    result: float | int = operator.pow(base, exponent)
    return result


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: _power,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt,
    "log2": math.log2,
    "min": min,
    "max": max,
    "round": round,
    "ceil": math.ceil,
}


# More would be nested too deeply for Python, or say nothing that a person reads.
LONGEST = 1000


def function_of(name: str, template: str) -> Callable[[Point], str | float | int]:
    """Make a function of the point from a text with arithmetic in braces.

    Parameters
    ----------
    name
        The name of the field, for error messages.
    template
        A text like ``{20 * flows}p``. Braces may contain numbers, names of axes,
        ``+ - * / // **`` and ``sqrt log2 min max round ceil``. If the text is a single pair of
        braces, the function returns a number.

    Returns
    -------
    callable
        A function of the point.

    Raises
    ------
    SweepError
        If the text is too long, or cannot be computed.

    Examples
    --------
    >>> function_of("buffer", "{round(20 * sqrt(flows))}p")({"flows": 4})
    '40p'
    >>> function_of("flows", "{2 * n}")({"n": 3})
    6
    """
    if len(template) > LONGEST:
        raise SweepError(
            f"{name}: {len(template)} letters are more than {LONGEST} for an expression"
        )

    def value(point: Point) -> str | float | int:
        try:
            if alone := re.fullmatch(r"\{([^{}]*)\}", template):
                number: float | int = _evaluate(ast.parse(alone[1], mode="eval").body, point)
                return number
            return re.sub(
                r"\{([^{}]*)\}",
                lambda match: f"{_evaluate(ast.parse(match[1], mode='eval').body, point):.10g}",
                template,
            )
        except (SyntaxError, ArithmeticError, TypeError, ValueError) as error:
            raise SweepError(
                f'{name}: "{template}" cannot be computed ({error}); try "{{20 * flows}}p"'
            ) from None
        except (RecursionError, MemoryError):
            raise SweepError(f"{name}: its expression is nested too deeply") from None

    return value


def _evaluate(node: ast.expr, point: Point) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in point:
            return _number(name, point[name])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left, point), _evaluate(right, point))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, point)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_evaluate(argument, point) for argument in arguments))
    known = ", ".join([*point, *_FUNCTIONS])
    raise ValueError(f"{ast.unparse(node)!r} is not a number, axis or function; known: {known}")


def _number(name: str, value: Any) -> float | int:
    """Return a value's number: the leading number if the value is a text, whatever its unit."""
    if isinstance(value, (int, float)):
        return value
    match = re.match(r"[-+]?\d+(\.\d+)?", str(value))
    if match is None:
        raise ValueError(f"{name} = {value!r} is not a number")
    return float(match[0])
