"""The reader: what it puts before the model, and what it refuses before the model runs."""

from __future__ import annotations

import dataclasses
import threading
import time

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import squeeze
from squeeze.base import whole
from squeeze.compressors.arc import ARC
from squeeze.errors import BudgetError, ConfigError, CorruptError, InputError
from squeeze.soft import SLOT, Reader, generate_ids, model_fingerprint, prepare_embeds, prompt_ids, text_embeds
from squeeze.soft.prompt import plain_ids, split_prompt
from squeeze.soft.tiny import byte_tokenizer, tiny_model

PROMPT = "What do pumps need?"


@pytest.fixture(scope="module")
def model() -> object:
    return tiny_model(eos_token_id=None)


@pytest.fixture(scope="module")
def tokenizer() -> object:
    return byte_tokenizer()


@pytest.fixture(scope="module")
def arc(model: object, tokenizer: object) -> ARC:
    from squeeze.soft import ArcEncoder, ArcSettings

    return ARC(model=model, tokenizer=tokenizer, checkpoint=ArcEncoder.from_model(model, ArcSettings(layers=2)))


@pytest.fixture(scope="module")
def reader(model: object, tokenizer: object) -> Reader:
    return Reader(model, tokenizer)


def as_vectors(model: object, tokenizer: object, text: str) -> squeeze.Compressed:
    """A result whose vectors are the text's own token embeddings."""
    vectors = text_embeds(model, torch.tensor([plain_ids(tokenizer, text)]))[0].detach()
    part = squeeze.SoftPart(0, 0, len(text), vectors, model_fingerprint(model) + ":identity")
    count = len(vectors)
    return squeeze.Compressed((squeeze.Passage(text),), None, (part,), (), count, count, 0.0, "bytes", "identity")


def test_text_as_its_own_embeddings_is_read_like_text(model: object, tokenizer: object, reader: Reader) -> None:
    for text in ("Pumps need oil.", "x", "弁は閉じている。"):
        ids = torch.tensor([[tokenizer.bos_token_id, *plain_ids(tokenizer, text + "\n\n" + PROMPT)]])
        made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False)
        expected = tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True)
        assert reader.generate(as_vectors(model, tokenizer, text), PROMPT, max_new_tokens=8) == expected
        assert reader.generate(text, PROMPT, max_new_tokens=8) == expected


@pytest.mark.parametrize("length", [1, 2, 10])
def test_embeddings_generate_what_ids_generate(length: int) -> None:
    model = tiny_model(vocab_size=200, pad_token_id=0, bos_token_id=1, eos_token_id=None, max_position_embeddings=64)
    ids = torch.randint(3, 200, (1, length), generator=torch.Generator().manual_seed(length))
    made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False)[0, length:]
    got = generate_ids(model, model.get_input_embeddings()(ids), max_new_tokens=6, do_sample=False)
    assert got == [made.tolist()] and len(got[0]) == 6


def test_dtype_and_device_follow_the_model_and_bad_vectors_are_refused() -> None:
    model = tiny_model(vocab_size=200, pad_token_id=0, bos_token_id=1, eos_token_id=None).to(torch.bfloat16)
    ready = prepare_embeds(model, torch.randn(1, 5, 32, dtype=torch.float64))
    weight = model.get_input_embeddings().weight
    assert ready.dtype == weight.dtype and ready.device == weight.device
    assert len(generate_ids(model, torch.randn(1, 5, 32, dtype=torch.float64), max_new_tokens=3)[0]) == 3
    holed = torch.randn(1, 5, 32)
    holed[0, 2] = float("nan")
    for wrong, kind in ((holed, CorruptError), (torch.randn(1, 5, 16), ConfigError), (torch.ones(4), ConfigError)):
        with pytest.raises(kind) as caught:
            prepare_embeds(model, wrong)
        assert isinstance(caught.value, ValueError)
        with pytest.raises(kind):
            generate_ids(model, wrong, max_new_tokens=3)
    with pytest.raises(CorruptError):
        prepare_embeds(model.to(torch.float16), torch.full((1, 32), 1e30))
    with pytest.raises(InputError, match="floating"):
        prepare_embeds(model, torch.ones(2, 32, dtype=torch.long))


@pytest.mark.parametrize("kind", ["gemma", "gemma2", "gemma3_text", "qwen3"])
def test_text_beside_vectors_is_scaled_as_the_model_does(kind: str) -> None:
    model = tiny_model(kind=kind, vocab_size=200, pad_token_id=0, bos_token_id=1, eos_token_id=None)
    ids = torch.randint(3, 200, (1, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        one, other = model(input_ids=ids).logits, model(inputs_embeds=text_embeds(model, ids)).logits
    assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(
    "prompt",
    ["Explain <xRAG> and <|soft_0|> to me.", "Use [MEM] [MEM] twice", "# Title\nends with hashes ####", "<s></s>", ""],
)
def test_what_a_user_types_makes_no_slot_and_no_special_token(
    prompt: str, arc: ARC, reader: Reader, tokenizer: object
) -> None:
    result = arc.compress("Pumps need oil.")
    (count,) = {part.vectors.shape[0] for part in result.parts}
    chats = [prompt, [{"role": "user", "content": prompt}], [{"role": "user", "content": [prompt, SLOT, prompt]}]]
    for form in chats:
        inputs = reader.inputs_embeds(result, form)
        assert inputs.slots == (count,)
        assert inputs.inputs_embeds.shape[1] == count + len(inputs.text_ids[0])
        assert prompt in tokenizer.decode(list(inputs.text_ids[0]))
        assert inputs.text_ids[0].count(tokenizer.bos_token_id) == 1
        assert tokenizer.eos_token_id not in inputs.text_ids[0]


def test_special_tokens_hidden_in_the_seam_of_two_texts_stay_text(tokenizer: object) -> None:
    pieces = [{"role": "user", "content": ["<|sys", "tem|>", SLOT, "squeezemark0xslotq"]}]
    before, after = split_prompt(tokenizer, pieces, context=True)
    assert before.count(tokenizer.convert_tokens_to_ids("<|system|>")) == 0
    assert "squeezemark0xslotq" in tokenizer.decode(after)


def test_exactly_one_begin_mark() -> None:
    tokenizer = byte_tokenizer()
    begin = tokenizer.bos_token_id
    chat = prompt_ids(tokenizer, messages=[{"role": "user", "content": "hello"}])
    plain, part = prompt_ids(tokenizer, text="hello"), prompt_ids(tokenizer, text="hello", position="after_soft")
    assert chat.count(begin) == 1 and chat[0] == begin
    assert plain.count(begin) == 1 and plain[0] == begin and part.count(begin) == 0
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    assert prompt_ids(tokenizer, messages=[{"role": "user", "content": "hello"}]) == [begin, *part]
    with pytest.raises(ConfigError, match="one of them"):
        prompt_ids(tokenizer)


def test_a_chat_is_spelled_as_the_tokenizer_spells_it(tokenizer: object) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    own = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    before, after = split_prompt(tokenizer, messages, context=False)
    assert [*before, *after] == list(own)


def test_the_context_stands_where_the_slot_is(reader: Reader, tokenizer: object) -> None:
    messages = [{"role": "user", "content": ["Sheet:", SLOT, "\nWhen?"]}]
    ids = list(reader.inputs_embeds("CONTEXT", messages, reply=False).text_ids[0])
    assert tokenizer.decode(ids) == "<s><|user|>Sheet:CONTEXT\nWhen?\n"
    ids = list(reader.inputs_embeds("CONTEXT", ("before ", " after")).text_ids[0])
    assert tokenizer.decode(ids) == "<s>before CONTEXT after"
    ids = list(reader.inputs_embeds("CONTEXT", [{"role": "user", "content": "When?"}]).text_ids[0])
    assert tokenizer.decode(ids) == "<s><|user|>CONTEXT\n\nWhen?\n<|assistant|>"
    ids = list(reader.inputs_embeds(None, "When?").text_ids[0])
    assert tokenizer.decode(ids) == "<s>When?"


def test_text_and_vectors_are_read_in_order(model: object, tokenizer: object, reader: Reader) -> None:
    soft = as_vectors(model, tokenizer, "second ")
    passages = (squeeze.Passage("first "), squeeze.Passage("second "), squeeze.Passage("third"))
    parts = (
        squeeze.TextPart(0, 0, 6, "first "),
        dataclasses.replace(soft.parts[0], passage=1, lead="["),
        squeeze.TextPart(2, 0, 5, "third", "] "),
    )
    mixed = dataclasses.replace(soft, passages=passages, parts=parts)
    inputs, plain = reader.inputs_embeds(mixed, ("", "")), reader.inputs_embeds("first [second ] third", ("", ""))
    assert torch.equal(inputs.inputs_embeds, plain.inputs_embeds)
    assert tokenizer.decode(list(inputs.text_ids[0])) == "<s>first [] third" and inputs.slots == (7,)


def test_left_padded_batches_equal_single_runs(arc: ARC, reader: Reader) -> None:
    texts = ["Pumps need oil.", "x", "The valve opens at 40 bar, because the spring gives way. " * 5]
    results = [arc.compress(text) for text in texts]
    prompts = [PROMPT, "When?", "At which pressure does it open, and why?"]
    inputs = reader.inputs_embeds(results, prompts)
    for row, (result, prompt) in enumerate(zip(results, prompts, strict=True)):
        alone = reader.inputs_embeds(result, prompt)
        length = alone.inputs_embeds.shape[1]
        assert torch.equal(inputs.inputs_embeds[row, -length:], alone.inputs_embeds[0])
        assert inputs.attention_mask[row].sum() == length and inputs.attention_mask[row, -length:].all()
        assert torch.equal(inputs.position_ids[row, -length:], torch.arange(length))
    together = reader.generate(results, prompts, max_new_tokens=12)
    assert together == [reader.generate(r, p, max_new_tokens=12) for r, p in zip(results, prompts, strict=True)]
    with pytest.raises(ConfigError, match="prompts"):
        reader.generate(results, prompts[:2])


def test_a_stream_gives_the_same_answer_in_pieces(arc: ARC, reader: Reader) -> None:
    result = arc.compress("Pumps need oil. " * 10)
    pieces = list(reader.stream(result, PROMPT, max_new_tokens=30))
    assert "".join(pieces) == reader.generate(result, PROMPT, max_new_tokens=30)
    with pytest.raises(ConfigError, match="max_length"):
        reader.stream(result, PROMPT, max_length=7)
    with pytest.raises(ValueError, match="no_such_option"):
        list(reader.stream(result, PROMPT, no_such_option=7))
    left = reader.stream(result, PROMPT, max_new_tokens=3000)
    assert next(left) and next(left)
    left.close()
    deadline = time.monotonic() + 60
    while any(thread.name == "squeeze stream" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the model goes on although nobody reads"
        time.sleep(0.01)


def test_the_log_probability_of_an_answer_is_the_models(model: object, tokenizer: object, reader: Reader) -> None:
    answer, context = "oil", as_vectors(model, tokenizer, "Pumps need oil.")
    ids = [tokenizer.bos_token_id, *plain_ids(tokenizer, "Pumps need oil.\n\n" + PROMPT + answer)]
    with torch.no_grad():
        scores = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    expected = [float(scores[at - 1, ids[at]]) for at in range(len(ids) - 3, len(ids))]
    assert reader.answer_logprobs(context, PROMPT, answer) == pytest.approx(expected, abs=1e-4)
    assert reader.answer_logprob(context, PROMPT, answer) == pytest.approx(sum(expected), abs=1e-4)
    with pytest.raises(ConfigError, match="answer"):
        reader.answer_logprob(context, PROMPT, "")


def test_the_length_is_checked_before_the_model_runs(arc: ARC, tokenizer: object) -> None:
    model = tiny_model(max_position_embeddings=40)
    reader = Reader(model, tokenizer)
    model.forward = model.generate = None  # would raise TypeError
    for call in (
        lambda: reader.generate("x" * 30, "y", max_new_tokens=20),
        lambda: reader.answer_logprob("x" * 50, "y", "z"),
        lambda: reader.inputs_embeds("x" * 50, "y"),
        lambda: reader.stream("x" * 50, "y"),
    ):
        with pytest.raises(BudgetError, match="reads 40") as caught:
            call()
        assert caught.value.limit == 40 < caught.value.reached


def test_vectors_of_another_model_are_refused(arc: ARC, tokenizer: object) -> None:
    result = arc.compress("Pumps need oil.")
    with pytest.raises(ConfigError, match="for the model"):
        Reader(tiny_model(seed=1), tokenizer).generate(result, PROMPT)


def test_a_fingerprint_outlives_dtypes_and_tells_models_apart() -> None:
    name = model_fingerprint(tiny_model())
    assert name == model_fingerprint(tiny_model().to(torch.bfloat16)) == model_fingerprint(tiny_model().half())
    others = [tiny_model(seed=1), tiny_model(num_hidden_layers=1), tiny_model(kind="qwen2")]
    nudged = tiny_model()
    with torch.no_grad():
        nudged.model.layers[1].mlp.up_proj.weight.neg_()
    assert len({name, *map(model_fingerprint, [*others, nudged])}) == 5


def test_vectors_that_are_not_finite_are_refused(arc: ARC, reader: Reader) -> None:
    result = arc.compress("Pumps need oil.")
    result.parts[0].vectors[0, 0] = float("inf")
    with pytest.raises(CorruptError, match="finite"):
        reader.generate(result, PROMPT)


def test_the_model_keeps_its_mode_and_its_flags(arc: ARC, tokenizer: object) -> None:
    model = tiny_model()
    model.train()
    model.model.norm.eval()
    flags = [(name, module.training) for name, module in model.named_modules()]
    reader = Reader(model, tokenizer)
    reader.generate("Pumps need oil.", PROMPT, max_new_tokens=2)
    reader.answer_logprob("Pumps need oil.", PROMPT, "oil")
    assert [(name, module.training) for name, module in model.named_modules()] == flags
    assert all(value.grad is None and value.requires_grad for value in model.parameters())


def test_wrong_arguments_are_named(reader: Reader, model: object, tokenizer: object) -> None:
    with pytest.raises(InputError, match="Compressed"):
        reader.generate(7, PROMPT)
    with pytest.raises(InputError, match="prompt"):
        reader.generate("x", 7)
    with pytest.raises(ConfigError, match="slots"):
        reader.generate("x", [{"role": "user", "content": [SLOT, SLOT]}])
    with pytest.raises(ConfigError, match="user"):
        reader.generate("x", [{"role": "system", "content": "x"}])
    with pytest.raises(InputError, match="content"):
        reader.generate("x", [{"role": "user", "content": 7}])
    for wrong in (0, -1, True, 1.5, "8"):
        with pytest.raises(ConfigError, match="max_new_tokens"):
            reader.generate("x", "y", max_new_tokens=wrong)
    for option in ("max_length", "inputs_embeds", "attention_mask"):
        with pytest.raises(ConfigError, match=option):
            reader.generate("x", "y", **{option: 7})
    with pytest.raises(InputError, match="model"):
        Reader("a name", tokenizer)
    with pytest.raises(InputError, match="tokenizer"):
        Reader(model, str.split)
    bare = byte_tokenizer()
    bare.chat_template = None
    with pytest.raises(ConfigError, match="chat template"):
        Reader(model, bare).generate("x", [{"role": "user", "content": "y"}])


def test_text_results_of_any_method_are_read(reader: Reader) -> None:
    passages = (squeeze.Passage("Pumps need oil."), squeeze.Passage("Valves do not."))
    count = len("Pumps need oil.\n\nValves do not.")
    result = squeeze.Compressed(passages, None, whole(passages), (), count, count, 0.0, "bytes", "edu")
    assert reader.generate(result, PROMPT, max_new_tokens=5) == reader.generate(result.text, PROMPT, max_new_tokens=5)
