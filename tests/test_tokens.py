import json
import pickle
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze.tokens as tokens
from squeeze.errors import ConfigError, InputError, MissingDependencyError
from squeeze.tokens import Estimate, Tokenizer, count_many, load_tokenizer

SPECIAL = "The paper ends each file with <|endoftext|> and pads with [PAD]. See also </s> and [CLS] marks."

# a passage per script and kind, written for this file
SAMPLES = {
    "english": "The harbour was finished in the spring of 1931, two years later than planned, because the "
    "eastern wall had "
    "settled unevenly and the engineers refused to load it before the survey of the ground was "
    "repeated. When the first "
    "ships came in, the town closed its schools for the day.",
    "names": "Przybylski and Vandenbroucke met Oyelaran Achterberg in Llanfairfechan; Szczepanik Krzywonos, "
    "Tuomikoski and "
    "Ngwenya Mkhabela joined them from Hódmezővásárhely, where Zsigmondy and Bartłomiej Święcicki "
    "had kept the papers.",
    "finnish": "Vanha myllynrakentaja kertoi, että kosken yläpuolella sijaitseva pato rakennettiin uudelleen "
    "tulvan jälkeen. "
    "Kyläläiset osallistuivat talkoisiin useiden viikkojen ajan, ja lopulta vesipyörä saatiin jälleen pyörimään.",
    "german": "Die Wasserversorgungsgenossenschaft beschloss, die Leitungen oberhalb des Dorfes zu erneuern. "
    "Wegen der "
    "Bodenverhältnisse verzögerten sich die Ausschachtungsarbeiten, und die Fertigstellung wurde verschoben.",
    "swahili": "Wavuvi wa kijiji walikusanyika ufukweni asubuhi na mapema ili kutengeneza nyavu zao kabla ya "
    "msimu wa mvua. "
    "Mzee mmoja aliwaambia vijana hadithi za safari ndefu alizofanya baharini pamoja na ndugu zake.",
    "russian": "Старая мельница стояла на берегу реки уже более ста лет. Каждую осень жители соседних деревень "
    "привозили туда "
    "зерно, а мельник рассказывал детям сказки о подводном царе и заколдованном лесе.",
    "arabic": "كان السوق القديم يمتلئ بالناس كل صباح، حيث يبيع الفلاحون الخضروات والفواكه الطازجة، ويجلس "
    "الشيوخ في المقهى "
    "يتحدثون عن أخبار المدينة وذكريات الشباب.",
    "hindi": "गाँव के पुराने कुएँ के पास एक बड़ा बरगद का पेड़ था। शाम को बच्चे वहाँ खेलते थे और बुज़ुर्ग बैठकर पुरानी कहानियाँ सुनाते थे।",
    "bengali": "নদীর ধারে ছোট একটি গ্রাম ছিল। সেখানে জেলেরা ভোরবেলা নৌকা নিয়ে মাছ ধরতে যেত এবং সন্ধ্যায় বাজারে ফিরে আসত।",
    "telugu": "ఊరి చివర పెద్ద చెరువు ఉంది. ప్రతి రోజు ఉదయం పిల్లలు అక్కడికి వెళ్లి ఆడుకుంటారు, పెద్దలు చెట్టు కింద కూర్చుని మాట్లాడుకుంటారు.",
    "thai": "หมู่บ้านเล็กๆ ริมแม่น้ำมีตลาดทุกเช้า ชาวบ้านนำผักและผลไม้มาขาย เด็กๆ วิ่งเล่นใต้ต้นไม้ใหญ่หน้าวัดเก่าแก่ของหมู่บ้าน",
    "korean": "산골 마을의 작은 도서관은 매주 토요일마다 문을 열었다. 아이들은 창가에 앉아 오래된 동화책을 "
    "읽고 할머니의 이야기를 들었다.",
    "japanese": "港の古い倉庫は、いまでは小さな美術館になっている。週末になると、近くの町から家族連れが訪れ、海を"
    "見ながら静かに過ごしている。",
    "chinese": "山脚下的小镇每年秋天都会举办丰收节。农民们把新收的稻谷和水果摆在街道两旁，孩子们提着灯笼在人群中"
    "奔跑，老人们坐在茶馆里聊天。",
    "greek": "Το παλιό λιμάνι γέμιζε κόσμο κάθε καλοκαίρι. Οι ψαράδες επισκεύαζαν τα δίχτυα τους και τα "
    "παιδιά έπαιζαν στην αμμουδιά.",
    "json": json.dumps(
        [{"order_id": f"#W{i}4711", "price": 12.5 * i, "options": {"colour": "deep blue"}} for i in range(5)], indent=2
    ),
    "uuid": "\n".join(f"{i:08x}-9e2b-4c1d-8f00-{i * 7919:012x}" for i in (91, 4052, 770123, 99999999)),
    "log": "\n".join(
        f'10.2.7.{i} - - [03/Mar/2021:10:05:{i}] "GET /img/logo-{i}.png HTTP/1.1" 200 {i * 977}' for i in (11, 27, 43)
    ),
    "code": "def area(self, width_px: int, *, scale: float = 1.0) -> float:\n    if width_px < 0:\n"
    "        raise ValueError(f'bad {width_px!r}')\n"
    "    return self._height_px * width_px * scale ** 2\n",
    "html": '<dl class="sig py"><dt id="mod.f"><span class="pre">f</span><em>(x, y)</em></dt>'
    "<dd><p>Adds &amp; rounds.</p></dd></dl>\n" * 2,
    "emoji": "🎉🎈👩‍🔬 party 🧪🧬 lab 🏳️‍🌈 flag 🇯🇵 " * 4,
    "base64": "aGVsbG8gd29ybGQhIFRoaXMgaXMgYSBzYW1wbGUgdGV4dCB0aGF0IGlzIGVuY29kZWQgdG8gc2hvdyBub2lzZS4gMTIzNDU2"
    "Nzg5MA==" * 2,
}


def byte_tokenizer(special=("<|endoftext|>", "<s>", "</s>", "[PAD]", "[CLS]")):
    """A byte-level tokenizer that adds <s>, truncates to 8 and pads, as saved files do."""
    from tokenizers import Tokenizer as Fast
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    fast = Fast(models.BPE())
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(special),
        show_progress=False,
    )
    fast.train_from_iterator(["plain ascii words only"] * 5, trainer)
    fast.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", fast.token_to_id("<s>"))]
    )
    fast.enable_truncation(8)
    fast.enable_padding(length=16, pad_token="[PAD]", pad_id=fast.token_to_id("[PAD]"))
    return fast


def byte_encoding():
    import tiktoken

    ranks = {bytes([i]): i for i in range(256)}
    return tiktoken.Encoding("bytes", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 256})


@pytest.fixture(scope="module")
def fast():
    pytest.importorskip("tokenizers")
    return byte_tokenizer()


@pytest.fixture(scope="module")
def folder(fast, tmp_path_factory):
    where = tmp_path_factory.mktemp("model")
    fast.save(str(where / "tokenizer.json"))
    return where


@pytest.fixture(scope="module")
def cl100k():
    pytest.importorskip("tiktoken")
    try:
        return load_tokenizer("cl100k_base")
    except ConfigError:
        pytest.skip("the vocabulary of cl100k_base is not here")


@pytest.fixture(params=["estimate", "tiktoken", "hf", "hf folder", "function"])
def counter(request):
    if request.param == "estimate":
        return load_tokenizer("estimate")
    if request.param == "function":
        return load_tokenizer(str.__len__)
    pytest.importorskip("tiktoken" if request.param == "tiktoken" else "tokenizers")
    if request.param == "tiktoken":
        return load_tokenizer(byte_encoding())
    if request.param == "hf":
        return load_tokenizer(request.getfixturevalue("fast"))
    return load_tokenizer(f"hf:{request.getfixturevalue('folder')}")


def test_every_counter_keeps_the_protocol(counter):
    assert isinstance(counter, Tokenizer) and counter.name
    assert counter.count("") == 0
    assert counter.count("two words") > 0
    assert load_tokenizer(counter) is counter
    assert count_many(counter, ["two", "", "two words"]) == [counter.count(x) for x in ("two", "", "two words")]


def test_lone_surrogates_count_as_replacement_characters(counter):
    assert counter.count("Bad half \ud83d here \udc00.") == counter.count("Bad half \ufffd here \ufffd.")


def test_counters_survive_pickling(counter):
    again = pickle.loads(pickle.dumps(counter))
    assert again.name == counter.name
    assert again.count(SPECIAL) == counter.count(SPECIAL)


def test_counters_serve_many_threads(counter):
    texts = [SPECIAL[: 3 * i] for i in range(40)] * 3
    expected = [counter.count(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(counter.count, texts)) == expected


@pytest.mark.parametrize("kind", ["tiktoken", "hf", "folder"])
def test_special_token_text_is_plain_text(kind, request):
    pytest.importorskip("tiktoken" if kind == "tiktoken" else "tokenizers")
    spec = {
        "tiktoken": byte_encoding,
        "hf": lambda: request.getfixturevalue("fast"),
        "folder": lambda: f"hf:{request.getfixturevalue('folder')}",
    }[kind]()
    counter = load_tokenizer(spec)
    for _ in range(2):
        assert counter.count("<|endoftext|>") > 1
        assert counter.decode(counter.encode(SPECIAL)) == SPECIAL
        assert len(counter.encode(SPECIAL)) == counter.count(SPECIAL)
        counter = pickle.loads(pickle.dumps(counter))


def test_the_users_tokenizer_stays_as_it_was_while_ours_neither_cuts_nor_pads(fast):
    counter = load_tokenizer(fast)
    assert counter.count("a" * 100) > 16
    assert counter.count("a") == 1  # neither <s> nor padding
    assert fast.truncation["max_length"] == 8 and fast.padding["length"] == 16
    assert fast.encode_special_tokens is False
    assert load_tokenizer(fast) is counter


def test_transformers_tokenizers_are_taken(fast):
    transformers = pytest.importorskip("transformers")
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=fast, bos_token="<s>", eos_token="</s>")
    counter = load_tokenizer(wrapped)
    assert counter.count("<s>") > 1
    assert counter.decode(counter.encode(SPECIAL)) == SPECIAL
    assert counter.count("a") == 1


def test_bytes_that_are_no_text_decode_to_replacement_characters(fast):
    counter = load_tokenizer(fast)
    ids = counter.encode("装")
    assert len(ids) == 3
    assert "\ufffd" in counter.decode(ids[:2])


def test_named_counters_are_loaded_once(folder):
    assert load_tokenizer("estimate") is load_tokenizer("estimate")
    assert load_tokenizer(f"hf:{folder}") is load_tokenizer(f"hf:{folder}")
    assert load_tokenizer(f"hf:{folder / 'tokenizer.json'}").count("abc") == load_tokenizer(f"hf:{folder}").count("abc")


def test_a_named_counter_pickles_without_its_vocabulary(folder):
    counter = load_tokenizer(f"hf:{folder}")
    data = pickle.dumps(counter)
    assert len(data) < 1000
    again = pickle.loads(data)
    assert again._value is None
    assert again.count("abc") == counter.count("abc")
    assert again._value is not None


def test_what_a_function_returns_is_checked():
    for wrong in (1.5, float("nan"), -1, None, "3", True):

        def bad_counter(text, wrong=wrong):
            return wrong

        with pytest.raises(ConfigError, match="bad_counter"):
            load_tokenizer(bad_counter).count("text")


def test_a_function_sees_the_whole_text_and_its_overhead_counts_once():
    def with_marks(text):
        return len(text.split()) + 2 if text else 0

    assert load_tokenizer(with_marks).count("one two three") == 5


@pytest.mark.parametrize("counter", [Estimate(), load_tokenizer(len)], ids=["estimate", "function"])
def test_counters_without_ids_say_so(counter):
    with pytest.raises(ConfigError, match="no token ids"):
        counter.encode("text")
    with pytest.raises(ConfigError, match="no token ids"):
        counter.decode([1])


def test_misspelt_names_get_the_nearest_one():
    with pytest.raises(ConfigError, match="Did you mean 'cl100k_base'"):
        load_tokenizer("cl100k-base")
    with pytest.raises(ConfigError, match="Did you mean 'estimate'"):
        load_tokenizer("estimat")
    with pytest.raises(ConfigError, match="'hf:'"):
        load_tokenizer("hf:")


@pytest.mark.parametrize("spec", [None, 7, b"estimate", ["estimate"], object()])
def test_what_cannot_count_is_refused_by_name(spec):
    with pytest.raises(InputError, match=type(spec).__name__):
        load_tokenizer(spec)


def test_broken_folders_are_named(tmp_path):
    pytest.importorskip("tokenizers")
    with pytest.raises(ConfigError, match=r"no tokenizer\.json"):
        load_tokenizer(f"hf:{tmp_path}")
    (tmp_path / "tokenizer.json").write_text("{", "utf-8")
    with pytest.raises(ConfigError, match="cannot read"):
        load_tokenizer(f"hf:{tmp_path}")
    with pytest.raises(ConfigError, match="no such folder"):
        load_tokenizer(f"hf:{tmp_path / 'nothing'}")


def test_a_hub_name_that_is_not_reachable_is_named(monkeypatch):
    library = pytest.importorskip("tokenizers")

    def offline(name):
        raise OSError("no network")

    monkeypatch.setattr(
        tokens, "need", lambda *a, **k: types.SimpleNamespace(Tokenizer=types.SimpleNamespace(from_pretrained=offline))
    )
    with pytest.raises(ConfigError, match="hf:someone/model"):
        load_tokenizer("hf:someone/model")
    assert library.Tokenizer


def test_a_vocabulary_that_is_not_reachable_is_named(monkeypatch):
    def offline(name):
        raise ConnectionError("no route")

    monkeypatch.setattr(tokens, "_NAMED", {})
    monkeypatch.setattr(tokens, "need", lambda *a, **k: types.SimpleNamespace(get_encoding=offline))
    with pytest.raises(ConfigError, match=r"o200k_base.*TIKTOKEN_CACHE_DIR"):
        load_tokenizer("o200k_base")


def test_a_download_that_hangs_ends_in_an_error(monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(tokens, "_NAMED", {})
    monkeypatch.setattr(tokens, "_WAIT", 0.05)
    monkeypatch.setattr(tokens, "need", lambda *a, **k: types.SimpleNamespace(get_encoding=lambda name: release.wait()))
    with pytest.raises(ConfigError, match="gpt2"):
        load_tokenizer("gpt2")
    release.set()


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(tokens, "_NAMED", {})

    def missing(module, *, extra):
        raise MissingDependencyError(f"{module}: squeeze-rag[{extra}]")

    monkeypatch.setattr(tokens, "need", missing)
    with pytest.raises(MissingDependencyError, match=r"tiktoken: squeeze-rag\[tokens\]"):
        load_tokenizer("p50k_base")
    with pytest.raises(MissingDependencyError, match="tokenizers"):
        load_tokenizer("hf:someone/model")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_estimate_is_near_cl100k_base(name, cl100k):
    text = SAMPLES[name]
    real = cl100k.count(text)
    assert real >= 50
    assert 0.9 <= load_tokenizer("estimate").count(text) / real <= 1.45


def test_the_estimate_of_all_samples_together_is_close(cl100k):
    text = "\n\n".join(SAMPLES.values())
    assert 0.98 <= load_tokenizer("estimate").count(text) / cl100k.count(text) <= 1.25


def test_the_estimate_does_not_undercount_scripts_without_spaces():
    assert load_tokenizer("estimate").count("東京都の天気予報" * 12) >= 58


def test_the_estimate_is_fixed():
    counts = {name: load_tokenizer("estimate").count(text) for name, text in SAMPLES.items()}
    assert counts["english"] in range(54, 64)
    assert counts == {name: Estimate().count(text) for name, text in SAMPLES.items()}


def test_the_estimate_of_a_long_text_is_that_of_its_pieces():
    text = SAMPLES["english"] * 1000  # several batches
    one = load_tokenizer("estimate").count(SAMPLES["english"])
    assert abs(load_tokenizer("estimate").count(text) / (1000 * one) - 1) < 0.02
    assert load_tokenizer("estimate").count("x" * 300_000) > 10_000


@given(st.lists(st.text(st.characters(), max_size=60), max_size=6))
def test_texts_counted_side_by_side_get_the_same_estimates(texts):
    estimate = Estimate()
    counts = estimate.count_many(texts)
    assert counts == [estimate.count(text) for text in texts]
    assert all((n == 0) == (text == "") and n >= 0 for n, text in zip(counts, texts, strict=True))


@given(st.text(st.characters(), max_size=200), st.text(st.characters(), max_size=200))
def test_the_estimate_grows_with_the_text_and_nearly_adds_up(a, b):
    estimate = Estimate()
    joined = estimate.count(a + "\n" + b)
    assert joined >= 0.7 * max(estimate.count(a), estimate.count(b)) - 3
    assert joined <= 1.5 * (estimate.count(a) + estimate.count(b)) + 6


@given(st.text(max_size=80))
def test_ids_decode_to_the_text(text):
    pytest.importorskip("tiktoken")
    counter = load_tokenizer(byte_encoding())
    assert counter.decode(counter.encode(text)) == text
