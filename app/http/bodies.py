"""Request bodies: one model for each, from which both the check and the OpenAPI document derive (http.md#rules).

FastAPI would parse JSON more leniently and answer 422 with errors of its own, so that models are validated here: the first invalid
field decides on the code. A field that is ``null`` has the wrong type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails
from starlette.requests import Request

from clawperator.app.http.openapi import Schema
from clawperator.app.serve.verbs import Arguments, checked_arguments, in_words
from clawperator.engine.config.settings import package_name
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.limits import BACKENDS, JOBS, MAX_DISPLAY, MAX_JOBS, MAX_WAIT_MS, THEN
from clawperator.engine.contracts.references import TREE_ID
from clawperator.engine.contracts.strict import OneOf
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.build import completed
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.hierarchy.views import MIN_BYTES

if TYPE_CHECKING:
    from clawperator.engine.facade import BackendOptions

SOURCE = "serve-api"
MAX_VIEW_BYTES = 2**31
_EXECUTION_HINT = "GET /schemas/execution returns the JSON Schema of an execution."


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _package(value: str) -> str:
    try:
        return package_name(_not_blank(value))
    except EngineError as exc:
        raise ValueError("must be an Android package name") from exc


def _given(execution: Any) -> Any:
    """Refuse what cannot be an execution (http.md#executions), and complete a plan of actions; the engine validates the rest."""
    if execution in (None, False, 0, ""):
        raise EngineError(ErrorCode.MISSING_EXECUTION, "Missing 'execution' in body")
    if execution == {}:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED, "The execution is empty", hint=_EXECUTION_HINT, details={"path": ""}
        )
    return completed(execution, SOURCE)


def _argument(value: Any) -> str:
    """Return an argument of a skill as text."""
    if not isinstance(value, str | int | float) or (isinstance(value, str) and "\0" in value):
        raise ValueError("must be a string, a number or a boolean")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


Wait = Annotated[
    int,
    Field(
        ge=0,
        le=MAX_WAIT_MS,
        description="How long to wait for a device that is in use.",
        json_schema_extra={"default": 0},
    ),
]
Backend = Annotated[str, OneOf(BACKENDS), Field(description="The way to the device: the Operator app, or none.")]
AllowUnbind = Annotated[
    bool,
    Field(description="The stock backend may unbind the Operator's accessibility service while it reads a screen."),
]
Compressed = Annotated[
    bool, Field(description="The stock backend leaves out decoration, so that screens that move can be read.")
]
DeviceId = Annotated[str, ErrorCode.INVALID_DEVICE_ID]
Limit = Annotated[int, Field(ge=1, le=1_000)]
_Pixel = Annotated[int, Field(gt=-(10**9), lt=10**9)]
Brief = Annotated[bool, Field(description="Answer with outcome, new data and views only.")]
Then = Annotated[
    str,
    OneOf(THEN),
    Field(
        description="Add the screen once it has settled, in this form; `diff`: a unified diff of the compact view's lines, or that view "
        "if it is shorter; `none`: only whether it changed."
    ),
]
MaxBytes = Annotated[int, Field(ge=MIN_BYTES, le=MAX_VIEW_BYTES, description="Truncate a larger `then`.")]
_Argument = Annotated[Any, AfterValidator(_argument), WithJsonSchema({"type": ["string", "number", "boolean"]})]


def _absent() -> Any:
    """Return the default of a field that may be absent, but not ``null``."""
    return None


class Body(BaseModel):
    """A JSON object with known keys: a misspelt ``deviceId`` that is ignored acts on another device."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, alias_generator=to_camel, defer_build=True)
    required: ClassVar[bool] = False
    """Whether the request needs a body."""

    @classmethod
    async def of(cls, request: Request) -> Self:
        """Read the body of ``request``. Raises ``EngineError``: INVALID_JSON, INVALID_BODY, or the code of the first invalid field."""
        try:
            return cls.model_validate(await _read_object(request, required=cls.required))
        except ValidationError as exc:
            raise cls._error(exc.errors(include_url=False, include_input=False)[0]) from None

    @classmethod
    def _error(cls, error: ErrorDetails) -> EngineError:
        """Return the error about one field, with the code in its annotation."""
        name, *inside = error["loc"]
        if error["type"] == "extra_forbidden":
            known = [field.alias or key for key, field in cls.model_fields.items()]
            return EngineError(
                ErrorCode.INVALID_BODY,
                f"There is no field '{shown(str(name))}'",
                hint=suggestion(str(name), known) or f"Known fields: {', '.join(known)}.",
                details={"path": shown(str(name))},
            )
        field = next(field for field in cls.model_fields.values() if field.alias == name)
        code = next((item for item in field.metadata if isinstance(item, ErrorCode)), ErrorCode.INVALID_BODY)
        words = in_words(error)
        where = "".join(f"[{index}]" for index in inside)
        hint = "Correct the field that the message names." if code is ErrorCode.INVALID_BODY else None
        return EngineError(
            code, f"'{name}{where}' {words}", hint=hint, details={"path": ".".join(map(str, error["loc"]))}
        )

    @classmethod
    def described(cls, **contracts: Schema) -> Schema:
        """Return ``openapi_extra`` for a route that takes this body; ``contracts`` are the schemas of its fields of any type."""
        schema = cls.model_json_schema()
        schema["properties"] |= contracts
        schema.pop("description", None)
        for part in (schema, *schema["properties"].values()):
            part.pop("title", None)
            if part.get("default", 0) in (None, ""):
                del part["default"]
        return {"requestBody": {"required": cls.required, "content": {"application/json": {"schema": schema}}}}


async def _read_object(request: Request, *, required: bool) -> dict[str, Any]:
    """Return the body as a JSON object, ``{}`` for an absent one unless ``required``."""
    data = await request.body()
    if not data:
        if required:
            raise EngineError(ErrorCode.INVALID_BODY, "The request needs a JSON object as its body")
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # to ignore it would act on the default device instead of the one that it names
        words = f"The body is {shown(kind)}, not JSON" if kind else "The body has no Content-Type"
        raise EngineError(ErrorCode.INVALID_BODY, words, hint="Send it with the header Content-Type: application/json.")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        hint = "Send the body without Content-Encoding."
        raise EngineError(ErrorCode.INVALID_BODY, f"Bodies encoded with {shown(encoding)} are not supported", hint=hint)
    try:
        value = parse_json(data)
    except EngineError as exc:
        raise EngineError(ErrorCode.INVALID_JSON, "Malformed JSON body", hint=exc.hint, details=exc.details) from exc
    if not isinstance(value, dict):
        raise EngineError(ErrorCode.INVALID_BODY, "The body must be a JSON object")
    return value


class Where(Body):
    """The device, the backend and the Operator app of a request, and its wait for a locked device."""

    device_id: DeviceId = ""
    receiver_package: Annotated[str, AfterValidator(_package), ErrorCode.INVALID_RECEIVER_PACKAGE] = ""
    operator_package: Annotated[str, AfterValidator(_package), ErrorCode.INVALID_OPERATOR_PACKAGE] = ""
    backend: Backend = _absent()
    allow_unbind: AllowUnbind = _absent()
    compressed: Compressed = _absent()
    wait_ms: Wait = _absent()

    @model_validator(mode="after")
    def _one_package(self) -> Self:
        if self.receiver_package and self.operator_package and self.receiver_package != self.operator_package:
            raise EngineError(
                ErrorCode.INVALID_RECEIVER_PACKAGE,
                "'receiverPackage' and 'operatorPackage' name different apps",
                hint="Send one of them.",
                details={"path": "receiverPackage"},
            )
        return self

    @property
    def place(self) -> dict[str, Any]:
        """Return the keyword arguments of ``HttpService.execute``."""
        package = self.receiver_package or self.operator_package or None
        return {"device_id": self.device_id or None, "receiver_package": package, **self.how}

    @property
    def how(self) -> BackendOptions:
        """Return what applies to each execution of the request."""
        return {
            "backend": self.backend,
            "allow_unbind": self.allow_unbind,
            "compressed": self.compressed,
            "wait_ms": self.wait_ms,
        }


class Acting(Where):
    """The answer that a request wants."""

    brief: Brief = False
    then: Then = _absent()
    max_bytes: MaxBytes = _absent()

    @property
    def options(self) -> RunOptions:
        return RunOptions(then=self.then, then_bytes=self.max_bytes)


class _Payload(Body):
    execution: Annotated[Any, BeforeValidator(_given)] = Field(None, validate_default=True)


class Execution(Acting, _Payload):  # fields of the last base come first, and so do their errors
    required = True
    model_config = ConfigDict(json_schema_extra={"required": ["execution"]})

    validate_only: Annotated[bool, Field(description="Validate the payload without a device.")] = False


class ExecutionOnMany(Execution):
    """``deviceId`` must be absent."""

    model_config = ConfigDict(json_schema_extra={"required": ["execution", "devices"]})

    devices: Annotated[
        str, Field(min_length=1, description="Serials, aliases, `tag:name` or `all`, separated by commas.")
    ] = Field("", validate_default=True)
    jobs: Annotated[int, Field(ge=1, le=MAX_JOBS, description="Devices at a time.")] = JOBS
    fail_fast: bool = False

    @model_validator(mode="after")
    def _no_device_id(self) -> Self:
        if self.device_id:
            words = "'deviceId' and 'devices' cannot be combined"
            raise EngineError(
                ErrorCode.INVALID_BODY, words, hint="Name the devices in 'devices' only.", details={"path": "devices"}
            )
        return self


class Verb(Acting):
    model_config = ConfigDict(extra="allow")

    @property
    def arguments(self) -> Arguments:
        """Return the arguments of the verb. Raises ``EngineError`` (INVALID_PARAMETER)."""
        return checked_arguments(self.model_extra or {})


class Snapshot(Where):
    brief: Brief = False
    verify: Annotated[
        bool, Field(description="Also ask the window and display managers what the tree cannot show.")
    ] = False
    if_changed: Annotated[str, Field(pattern=f"^{TREE_ID.pattern}$")] = ""


class Screenshot(Where):
    display: Annotated[int, Field(ge=0, le=MAX_DISPLAY, description="The id of a display in `device_info`.")] = 0
    path: Annotated[str, AfterValidator(_not_blank), ErrorCode.INVALID_PATH] = ""


class _Tree(Where):
    required = True

    max_age_ms: Annotated[int, Field(ge=0, le=3_600_000)] = 0
    selector: Any = None


class Match(_Tree):
    model_config = ConfigDict(json_schema_extra={"required": ["selector"]})

    container: Any = None
    within: Any = None
    nth: Annotated[int, Field(ge=0, le=1_000_000)] = _absent()
    strict: bool = False
    limit: Limit = 20
    explain: bool = False


class Suggestion(_Tree):
    at: Annotated[list[_Pixel], Field(min_length=2, max_length=2)] = _absent()
    node: str = _absent()
    limit: Limit = 10


class SkillRun(Body):
    device_id: DeviceId = ""
    args: Annotated[list[_Argument], ErrorCode.INVALID_ARGS] = []
    inputs: Annotated[dict[str, _Argument], ErrorCode.SKILL_INPUT_INVALID] = {}
    timeout_ms: Annotated[int, Field(ge=1), ErrorCode.INVALID_TIMEOUT_MS] = _absent()
    backend: Backend = _absent()
    allow_unbind: AllowUnbind = _absent()
    compressed: Compressed = _absent()
    wait_ms: Wait = _absent()
    expect_contains: Annotated[str, ErrorCode.INVALID_EXPECT_CONTAINS] = _absent()
    brief: Brief = False
    then: Then = _absent()
    max_bytes: MaxBytes = _absent()


class Provision(Body):
    name: str = ""


class Avd(Provision):
    api_level: int = _absent()
    device_profile: str = _absent()
    abi: str = _absent()
    play_store: bool = _absent()
