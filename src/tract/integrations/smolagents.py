"""smolagents: each step of an agent is recorded, and its model sees results in their forms.

The agent's memory stays as it is: only the messages that a step becomes for the model differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tract.core.drafts import NO_DETAILS, Details
from tract.core.wording import GET_TOOL_RESULT, GET_TOOL_RESULT_SCHEMA
from tract.extras import missing_package
from tract.integrations.definitions import Definitions
from tract.integrations.failures import logged
from tract.integrations.mirror import Mirror, Source, opened
from tract.integrations.settings import Results, configure
from tract.model import Block, Json, Message, Text, ToolCall
from tract.providers.frameworks.lists import LoadedList
from tract.providers.requests import Loaded, tools_of
from tract.tract import Tract

try:
    from smolagents import AgentError, AgentLogger, LogLevel, MultiStepAgent, Tool, ToolCallingAgent
    from smolagents.agents import ToolOutput
    from smolagents.memory import ActionStep, MemoryStep, PlanningStep, SystemPromptStep, TaskStep
    from smolagents.memory import ToolCall as MemoryCall
    from smolagents.models import get_tool_json_schema
    from smolagents.monitoring import Timing
except ImportError as missing:
    raise missing_package("tract.integrations.smolagents", "smolagents") from missing

TO_MESSAGES = "to_messages"
"""The method of a step that returns what the model sees of it."""
OUTPUTS = "tract_outputs"
"""The attribute of a step that has the results of its calls, which smolagents joins into one
text."""


def record_agent(
    agent: MultiStepAgent,
    source: Source,
    *,
    dialog: str = "default",
    results: Results | None = None,
) -> Tract:
    """Record an agent on a dialog and give it the tool `get_tool_result`. `results` are the
    arguments of `Tract.configure_results`, or just its `inline_tokens`."""
    t = opened(source, dialog)
    configure(t, results)
    agent.tools[GET_TOOL_RESULT] = _fetch_tool(t)
    steps = _Steps(t)
    for kind in (ActionStep, PlanningStep):
        agent.step_callbacks.register(kind, steps.take)
    if isinstance(agent, ToolCallingAgent):
        _keep_outputs(agent)
    return t


class _Steps:
    """The steps of one agent beside a dialog."""

    def __init__(self, tract: Tract) -> None:
        self._mirror = Mirror(tract, _load)
        self._definitions = Definitions(get_tool_json_schema)

    def take(self, step: MemoryStep, agent: MultiStepAgent) -> None:
        """Record a step, which is not in the memory yet, and all before it."""
        steps = [*agent.memory.steps, step]
        with logged(self._mirror.tract, "record a step of smolagents"):
            is_calling = isinstance(agent, ToolCallingAgent)
            tools = _own(agent.tools_and_managed_agents) if is_calling else []
            history = [agent.memory.system_prompt, *steps]
            self._mirror.follow(history, self._definitions.of(tools))
            self._reshape(steps)

    def _reshape(self, steps: Sequence[MemoryStep]) -> None:
        shown = self._mirror.shown().results
        names = {call_id for call_id, _ in shown}
        counts: Counter[str] = Counter()
        for step in steps:
            vars(step).pop(TO_MESSAGES, None)
            if not isinstance(step, ActionStep) or names.isdisjoint(_output_ids(step)):
                continue
            texts = dict(sorted(_outputs(step).items()))
            keys = {call_id: (call_id, counts[call_id]) for call_id in texts}
            counts.update(texts.keys())
            forms = {call_id: shown[key].text for call_id, key in keys.items() if key in shown}
            if forms and step.observations is not None:
                text = "\n".join((texts | forms).values())
                vars(step)[TO_MESSAGES] = partial(_to_messages, step, text)


def _to_messages(step: ActionStep, text: str, summary_mode: bool = False) -> list[Any]:
    """The messages of a step with another observation."""
    messages: list[Any] = ActionStep.to_messages(replace(step, observations=text), summary_mode)
    return messages


def _keep_outputs(agent: ToolCallingAgent) -> None:
    process = agent.process_tool_calls

    def process_tool_calls(chat_message: Any, memory_step: ActionStep) -> Iterator[Any]:
        outputs = vars(memory_step).setdefault(OUTPUTS, {})
        for output in process(chat_message, memory_step):
            if isinstance(output, ToolOutput):
                outputs[output.id] = output.observation
            yield output

    agent.process_tool_calls = process_tool_calls


def _output_ids(step: ActionStep) -> Iterable[str]:
    """The ids of the calls of a step that may have a result."""
    return vars(step).get(OUTPUTS) or [call.id for call in step.tool_calls or ()]


def _outputs(step: ActionStep) -> dict[str, str]:
    """The results of a step. An agent that writes code has one call in each step."""
    if OUTPUTS not in vars(step) and step.tool_calls and step.observations is not None:
        return {step.tool_calls[0].id: step.observations}
    return dict(vars(step).get(OUTPUTS, {}))


def _fetch_tool(t: Tract) -> Tool:
    schema, fetch = GET_TOOL_RESULT_SCHEMA, t.as_tool()
    required = schema["input_schema"]["required"]

    class FetchTool(Tool):  # type: ignore[misc]
        name = GET_TOOL_RESULT
        description = schema["description"]
        inputs = {  # noqa: RUF012
            key: field if key in required else {**field, "nullable": True}
            for key, field in schema["input_schema"]["properties"].items()
        }
        output_type = "string"

        def forward(
            self,
            id: str,  # noqa: A002
            lines: str | None = None,
            grep: str | None = None,
            context: int | None = None,
            json_path: str | None = None,
            offset: int | None = None,
            limit: int | None = None,
        ) -> str:
            return str(fetch(id, lines, grep, context, json_path, offset, limit))

    return FetchTool()


def _own(tools: Sequence[Any]) -> list[Any]:
    return [tool for tool in tools if tool.name != GET_TOOL_RESULT]


# Steps in our messages


def _load(steps: Sequence[MemoryStep], tools: Sequence[Any] | None) -> LoadedList:
    pairs = [pair for step in steps for pair in _load_step(step)]
    definitions = None if tools is None else tools_of(list(tools)) or []
    loaded = Loaded([message for message, _ in pairs], definitions, {}, "")
    return LoadedList(loaded, [details for _, details in pairs])


def _load_step(step: MemoryStep) -> Iterator[tuple[Message, Details]]:
    match step:
        case SystemPromptStep(system_prompt=text):
            yield Message("system", text), NO_DETAILS
        case TaskStep(task=text):
            yield Message("user", text), NO_DETAILS
        case PlanningStep(plan=text):
            yield Message("assistant", text), _usage(step)
        case ActionStep():
            yield from _load_action(step)


def _load_action(step: ActionStep) -> Iterator[tuple[Message, Details]]:
    calls = list(_calls(step))
    text = step.model_output if isinstance(step.model_output, str) else ""
    blocks: list[Block] = [Text(text), *calls] if text else [*calls]
    if blocks:
        yield Message("assistant", tuple(blocks)), _usage(step)
    outputs, error = _outputs(step), str(step.error or "")
    for call in calls:
        if call.id in outputs:
            yield Message("tool", outputs[call.id], call.id, call.name), NO_DETAILS
        elif error:
            yield Message("tool", error, call.id, call.name, True), NO_DETAILS
    if error and (not calls or len(calls) == len(outputs)):
        yield Message("user", f"Error:\n{error}"), NO_DETAILS


def _calls(step: ActionStep) -> Iterator[ToolCall]:
    """The calls of a step. Where one failed, only the model's answer has them."""
    if step.tool_calls is not None:
        for call in step.tool_calls:
            yield ToolCall(call.id, call.name, call.arguments)
        return
    for call in getattr(step.model_output_message, "tool_calls", None) or ():
        yield ToolCall(call.id, call.function.name, call.function.arguments)


def _usage(step: ActionStep | PlanningStep) -> Details:
    usage = step.token_usage
    if usage is None:
        return NO_DETAILS
    tokens: dict[str, Json] = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
    return Details(usage=tokens)


# And back


def memory_steps(t: Tract) -> list[MemoryStep]:
    """The steps of a recorded agent with results in full, to go on in another process:
    `agent.memory.steps = memory_steps(t)`, then `agent.run(task, reset=False)`."""
    steps: list[MemoryStep] = []
    for message in t.compile(load_tool_results=True).messages:
        if message.role == "user":
            steps.append(TaskStep(task=message.text))
        elif message.role == "assistant":
            steps.append(_dump_answer(message, len(steps)))
        elif message.role == "tool" and steps:
            _add_result(steps[-1], message)
    return steps


def _dump_answer(message: Message, number: int) -> ActionStep:
    calls = [MemoryCall(call.name, call.arguments, call.id) for call in message.tool_calls]
    timing = Timing(start_time=0, end_time=0)
    return ActionStep(
        step_number=number, timing=timing, tool_calls=calls or None, model_output=message.text
    )


def _add_result(step: MemoryStep, result: Message) -> None:
    if result.is_error:
        step.error = AgentError(result.text, AgentLogger(LogLevel.OFF))
        return
    vars(step).setdefault(OUTPUTS, {})[result.tool_call_id] = result.text
    step.observations = "\n".join(text for _, text in sorted(vars(step)[OUTPUTS].items()))
