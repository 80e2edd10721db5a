"""A training run of soft tokens: its method, optimiser, log, and what it has spent."""

from __future__ import annotations

import json
import math
import random
import resource
import sys
import time
from argparse import Namespace
from typing import Any

import torch

from squeeze.errors import ConfigError
from squeeze.soft.fingerprint import model_fingerprint
from squeeze.train import curve
from squeeze.train.soft_ids import Prepared
from squeeze.train.soft_method import Method, Setting, build
from squeeze.train.soft_options import remembered, shaping
from squeeze.train.soft_state import LOG, STATE, Log, read_state, restore, trained, write_state

CURVE = "curve.png"


def rate_at(step: int, options: Namespace) -> float:
    """The share of its learning rate that a step has: warm-up, then a cosine down to the floor."""
    rising: float = min((step + 1) / max(options.warm_up, 1), 1.0)
    done = min(max(step - options.warm_up, 0) / max(options.steps - options.warm_up, 1), 1.0)
    share: float = options.floor + (1 - options.floor) * (1 + math.cos(math.pi * done)) / 2
    return rising * share


def digest(prepared: Prepared) -> list[int]:
    """Figures that tell other ids from these."""
    return [len(prepared.texts), len(prepared.texts.flat), len(prepared.questions), len(prepared.documents.flat)]


def optimizer_of(method: Method, options: Namespace) -> torch.optim.Optimizer:
    """AdamW with a group, and a learning rate, for each role."""
    groups = [
        {"params": [value for _, value in own], "lr": getattr(options, f"rate_{role}"), "role": role}
        for role, own in method.roles().items()
        if own
    ]
    if not groups:
        raise ConfigError("nothing is left to train; give --lora, or freeze less")
    return torch.optim.AdamW(groups, betas=(0.9, 0.95), weight_decay=options.decay)


class Run:
    """A training run: its method, optimiser, log, and what it has spent.

    Args:
        options: those of the program.
        setting: what the method is built from.
    """

    def __init__(self, options: Namespace, setting: Setting) -> None:
        self.options, self.out, self.model = options, setting.out, setting.model
        self.device = next(setting.model.parameters()).device
        info = read_state(self.out / STATE) if options.resume else {}
        self.about = {
            "method": options.method,
            "model": model_fingerprint(setting.model),
            "ids": digest(setting.prepared),
        }
        if info:
            self._check(info)
        self.method = build(options.method, setting)
        self.roles = self.method.roles()
        self.optimizer = optimizer_of(self.method, options)
        self.step = 0
        self.spent: dict[str, float] = info.get("spent") or {"seconds": 0.0, "context": 0, "target": 0}
        if info:
            restore(self.out / STATE, self.roles, self.optimizer)
            self.step = int(info["step"])
        self.log = Log(self.out / LOG, self.step if info else -1)

    def _check(self, info: dict[str, Any]) -> None:
        for name, own in self.about.items():
            if info.get(name) != own:
                raise ConfigError(f"the run in {self.out} has {name} {info.get(name)!r}; this is {own!r}")
        for name, own in shaping(self.options).items():
            if info["options"].get(name, own) != own:
                was = info["options"][name]
                raise ConfigError(f"the run in {self.out} was started with {name} {was!r}, not {own!r}: keep it")

    def pass_over(self) -> dict[str, Any]:
        """One step of the optimiser, as a row of the log.

        Raises:
            ConfigError: the loss or the gradient is not finite; nothing is changed then.
        """
        options, started = self.options, time.monotonic()
        frozen = self.step < options.heads_first
        for _, value in self.roles["layers"]:
            value.requires_grad_(not frozen)
        total, batch = 0.0, None
        for part in range(options.accumulate):
            chance = random.Random(f"{options.seed} {self.step} {part}")
            torch.manual_seed(chance.getrandbits(63))
            batch = self.method.draw(self.step, chance)
            with self.mixed():
                loss = self.method.loss(batch)
            (loss / options.accumulate).backward()
            total += float(loss.detach()) / options.accumulate
            self.spent["context"] += batch.context
            self.spent["target"] += batch.target
        norm = float(torch.nn.utils.clip_grad_norm_(trained(self.roles).values(), options.clip))
        if not math.isfinite(total) or not math.isfinite(norm):
            self.optimizer.zero_grad(set_to_none=True)
            raise ConfigError(
                f"step {self.step + 1}: the loss is {total}, the length of its gradient {norm}; the state of before is "
                f"kept in {self.out}: go on from it with lower rates (--rate-layers, --rate-heads), or in fp32"
            )
        share = rate_at(self.step, options)
        for group in self.optimizer.param_groups:
            group["lr"] = share * getattr(options, f"rate_{group['role']}")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.spent["seconds"] += time.monotonic() - started
        row = {"step": self.step, "loss": total, "kind": batch.kind if batch else "", "norm": norm, "share": share}
        return {
            **row,
            "factor": batch.factor if batch else 0,
            **{key: round(own, 2) for key, own in self.spent.items()},
        }

    def mixed(self) -> Any:
        """Inside, matrices are multiplied in the dtype that was asked for."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.dtype == "bf16")

    def measure(self) -> None:
        """Held-out figures into the log, once for a step."""
        if any("measured" in row and row["step"] == self.step for row in self.log.rows):
            return
        self.method.trainee.eval()
        with self.mixed(), torch.no_grad():
            found = {name: round(value, 4) for name, value in self.method.measure().items()}
        self.log.add(step=self.step, measured=found)
        print(json.dumps({"step": self.step, **found}), flush=True)

    def save(self) -> None:
        """The state, then the checkpoint; each is whole at any moment."""
        info = {**self.about, "step": self.step, "spent": self.spent, "options": remembered(self.options)}
        write_state(self.out / STATE, self.roles, self.optimizer, info)
        self.method.save(self.out)
        if self.options.curve:
            curve.draw(self.log.rows, self.out / CURVE, f"{self.options.method}, {self.step} steps")

    def summary(self) -> dict[str, Any]:
        """What the run took."""
        tokens = self.spent["context"] + self.spent["target"]
        seconds = self.spent["seconds"]
        return {
            "steps": self.step,
            "context_tokens": int(self.spent["context"]),
            "target_tokens": int(self.spent["target"]),
            "hours": round(seconds / 3600, 3),
            "tokens_a_second": round(tokens / max(seconds, 1e-9), 1),
            "context_tokens_a_second": round(self.spent["context"] / max(seconds, 1e-9), 1),
            "hours_a_million_tokens": round(seconds / 3600 / max(tokens, 1) * 1e6, 3),
            "peak_bytes": peak(self.device),
            "trained_parameters": sum(value.numel() for value in trained(self.roles).values()),
            "measured": [row for row in self.log.rows if "measured" in row],
        }


def peak(device: torch.device) -> int:
    """The most memory that was in use, in bytes: the card's, or the process's."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
