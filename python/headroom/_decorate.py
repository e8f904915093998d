"""Implements the decorator `@headroom.scope(key)`. Private: `Scope.__call__` calls it."""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable

from headroom._timer import end

if TYPE_CHECKING:
    from headroom._timer import Scope


def decorate(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `function`, timed, with the same name, signature, result and kind.

    A coroutine function is timed from its first step to its end, waits included. A generator is timed each time it
    runs: one region per value. The time between two values belongs to its consumer. A region also ends when an
    exception leaves it.
    """
    if not callable(function):
        raise TypeError("a scope decorates functions; as a block it is `with headroom.scope(key):`")
    begin = scope.begin
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def timed(*args: Any, **kwargs: Any) -> Any:
            token = begin()
            try:
                return await function(*args, **kwargs)
            finally:
                end(token)

    elif inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def timed(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume, argument = generator.asend, None
            while True:
                token = begin()
                try:
                    item = await resume(argument)
                except StopAsyncIteration:
                    return
                finally:
                    end(token)
                try:
                    argument = yield item
                    resume = generator.asend
                except GeneratorExit:
                    with scope:
                        await generator.aclose()
                    raise
                except BaseException as error:  # The generator handles exceptions that the consumer throws in.
                    resume, argument = generator.athrow, error

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume, argument = generator.send, None
            while True:
                token = begin()
                try:
                    item = resume(argument)
                except StopIteration as stop:
                    return stop.value
                finally:
                    end(token)
                try:
                    argument = yield item
                    resume = generator.send
                except GeneratorExit:
                    with scope:
                        generator.close()
                    raise
                except BaseException as error:  # The generator handles exceptions that the consumer throws in.
                    resume, argument = generator.throw, error

    else:

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            token = begin()
            try:
                return function(*args, **kwargs)
            finally:
                end(token)

    return timed
