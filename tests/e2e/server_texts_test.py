"""Embeddings and texts of the default model through the whole server, over gRPC: the model card's
retrieval figures, the reference's vectors, and the same bits in any company."""

import concurrent.futures

import grpc
import pytest

from server_process import CLIPS, classify_request, details, expected_clips, expected_texts, pb, running

TOLERANCE = 1e-5  # The reference's vectors are rounded to seven digits.


@pytest.fixture(scope="module")
def server():
    with running("--workers", "2") as started:
        yield started


def analyze(server, file, *tasks, **match_text):
    request = pb.AnalyzeClipRequest(content=(CLIPS / file).read_bytes())
    request.spec.tasks.extend(tasks or [pb.TASK_EMBED])
    request.spec.match_text.texts.extend(match_text.pop("texts", []))
    for name, value in match_text.items():
        setattr(request.spec.match_text, name, value)
    return server.video.AnalyzeClip(request, timeout=30).result


def upload(server, file, chunk=4096):
    start = pb.UploadClipRequest.Start()
    start.spec.tasks.append(pb.TASK_EMBED)
    content = (CLIPS / file).read_bytes()
    messages = [pb.UploadClipRequest(start=start)]
    messages += [pb.UploadClipRequest(chunk=content[at:at + chunk])
                 for at in range(0, len(content), chunk)]
    return server.video.UploadClip(iter(messages), timeout=30).result


def embed(server, texts):
    return server.video.EmbedText(pb.EmbedTextRequest(texts=texts), timeout=30)


def vectors(embeddings):
    return [tuple(embedding.values) for embedding in embeddings]


def largest_difference(found, expected):
    assert len(found) == len(expected)
    return max(abs(a - b) for a, b in zip(found, expected))


@pytest.fixture(scope="module")
def clip_vectors(server):
    return {clip["file"]: vectors(analyze(server, clip["file"]).embeddings)[0]
            for clip in expected_clips()[1]}


@pytest.fixture(scope="module")
def caption_vectors(server):
    clips = expected_clips()[1]
    found = vectors(embed(server, [clip["caption"] for clip in clips]).embeddings)
    return {clip["file"]: vector for clip, vector in zip(clips, found)}


def test_vectors_are_the_references(clip_vectors, caption_vectors):
    for clip in expected_clips()[1]:
        file = clip["file"]
        assert largest_difference(clip_vectors[file], clip["embedding"]) <= TOLERANCE, file
        assert largest_difference(caption_vectors[file], clip["caption_embedding"]) <= TOLERANCE, file
        assert abs(sum(x * x for x in clip_vectors[file]) - 1) < 1e-5, file


def recall(queries, items):
    """R@1, 5 and 10 of query i for item i by dot product, as the card rounds them."""
    ranks = []
    for i, query in enumerate(queries):
        scores = [sum(a * b for a, b in zip(query, item)) for item in items]
        ranks.append(sum(score > scores[i] for score in scores))
    return {f"R@{k}": round(sum(rank < k for rank in ranks) / len(ranks), 4) for k in (1, 5, 10)}


def test_retrieval_is_the_cards(clip_vectors, caption_vectors):
    summary, clips = expected_clips()
    videos = [clip_vectors[clip["file"]] for clip in clips]
    texts = [caption_vectors[clip["file"]] for clip in clips]
    assert recall(texts, videos) == summary["text_to_video"]
    assert recall(videos, texts) == summary["video_to_text"]


def test_matches_give_the_same_retrieval_in_one_request_a_clip(server, clip_vectors,
                                                               caption_vectors):
    _, clips = expected_clips()
    captions = [clip["caption"] for clip in clips]
    temperature = server.models.GetModel(pb.GetModelRequest(name="models/tagger24"),
                                         timeout=10).model.temperature
    assert 0.05 < temperature < 0.07
    for clip in clips[::8]:
        result = analyze(server, clip["file"], pb.TASK_MATCH_TEXT, texts=captions)
        assert not result.classes and not result.embeddings
        for other, match in zip(clips, result.text_matches):
            wanted = sum(a * b for a, b in zip(clip_vectors[clip["file"]],
                                               caption_vectors[other["file"]]))
            assert abs(match.similarity - wanted) < 1e-6
            assert match.match_logit == 0
        assert abs(sum(match.score for match in result.text_matches) - 1) < 1e-5
        order = sorted(result.text_matches, key=lambda match: match.similarity)
        assert [m.score for m in order] == sorted(m.score for m in order)


def test_texts_of_the_card_with_their_unknown_words(server):
    for expected in expected_texts():
        if expected["embedding"] is None:
            with pytest.raises(grpc.RpcError) as caught:
                embed(server, ["the camera pans left", expected["text"]])
            assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            found = details(caught.value)
            assert found["ErrorInfo"].reason == "FIELD_INVALID"
            assert found["BadRequest"].field_violations[0].field == "texts[1]"
            continue
        answer = embed(server, [expected["text"]])
        assert largest_difference(answer.embeddings[0].values, expected["embedding"]) <= TOLERANCE
        unknown = [warning.message for warning in answer.warnings
                   if warning.reason == "UNKNOWN_TERMS"]
        assert len(unknown) == (1 if expected["unknown"] else 0)
        for word in expected["unknown"]:
            assert f'"{word}"' in unknown[0] and unknown[0].startswith("texts[0]: ")


def test_a_text_over_the_towers_length_is_cut_with_a_warning(server):
    model = server.models.GetModel(pb.GetModelRequest(), timeout=10).model
    whole = "left " * model.max_text_tokens
    answer = embed(server, [whole, whole + "right"])
    assert [w.reason for w in answer.warnings] == ["TEXT_TRUNCATED"]
    assert "texts[1]" in answer.warnings[0].message
    assert answer.embeddings[0] == answer.embeddings[1]


def clips_in_company(server, clip_vectors, times):
    """Sixteen callers at a time with texts among them; float32 equality, no tolerance. The largest
    batch."""
    files = list(clip_vectors) * times
    shared = 0

    def one(number):
        if number % 4 == 3:
            embed(server, ["a red ball moves left"] * (number % 50 + 1))
        if number % 7 == 5:
            return upload(server, files[number])
        tasks = [[pb.TASK_EMBED], [pb.TASK_CLASSIFY, pb.TASK_EMBED],
                 [pb.TASK_EMBED, pb.TASK_MATCH_TEXT]][number % 3]
        return analyze(server, files[number], *tasks, texts=["a static shot"])

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for file, result in zip(files, pool.map(one, range(len(files)))):
            assert vectors(result.embeddings) == [clip_vectors[file]], file
            shared = max(shared, result.usage.batch_size)
    return shared


def test_a_clips_vector_has_the_same_bits_alone_in_company_and_uploaded(server, clip_vectors):
    clips_in_company(server, clip_vectors, 3)


def test_a_clips_vector_has_the_same_bits_alone_and_in_a_batch():
    """One worker on the scalar kernels, which are slow enough for a queue."""
    with running("--workers", "1", "--kernel", "scalar") as slow:
        files = [clip["file"] for clip in expected_clips()[1][:4]]
        alone = {file: vectors(analyze(slow, file, pb.TASK_EMBED).embeddings)[0] for file in files}
        shared = clips_in_company(slow, alone, 3)
    assert shared > 1, "no two requests shared a batch, so this proved nothing"


def test_a_texts_vector_has_the_same_bits_alone_and_in_any_company(server, caption_vectors):
    captions = {clip["caption"]: caption_vectors[clip["file"]] for clip in expected_clips()[1]}
    for caption, together in list(captions.items())[::5]:
        assert vectors(embed(server, [caption]).embeddings) == [together], caption
    names = list(captions)
    mixed = [names[i % len(names)] for i in range(0, 3000, 3)]
    assert len(mixed) == 1000
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = pool.map(lambda start: (start, embed(server, mixed[start::16])), range(16))
        for start, answer in answers:
            assert vectors(answer.embeddings) == [captions[text] for text in mixed[start::16]]
    assert vectors(embed(server, mixed).embeddings) == [captions[text] for text in mixed]


def test_tasks_together_are_what_they_are_apart(server, clip_vectors):
    file = next(iter(clip_vectors))
    texts = ["a static shot", "the camera pans left"]
    together = analyze(server, file, pb.TASK_CLASSIFY, pb.TASK_EMBED, pb.TASK_MATCH_TEXT,
                       texts=texts)
    request = classify_request((CLIPS / file).read_bytes())
    classes = server.video.AnalyzeClip(request, timeout=30).result.classes
    assert list(together.classes) == list(classes)
    assert vectors(together.embeddings) == [clip_vectors[file]]
    matches = analyze(server, file, pb.TASK_MATCH_TEXT, texts=texts).text_matches
    assert list(together.text_matches) == list(matches)
    assert together.usage.tokens == 256, "the backbone ran once"


def test_windows_have_vectors_of_their_own_whose_mean_is_the_clips(server):
    file = "m00_pan_left.mp4" if (CLIPS / "m00_pan_left.mp4").exists() else None
    file = file or expected_clips()[1][0]["file"]
    request = pb.AnalyzeClipRequest(content=(CLIPS / file).read_bytes())
    request.spec.tasks.extend([pb.TASK_EMBED, pb.TASK_MATCH_TEXT])
    request.spec.match_text.texts.append("the camera pans left")
    request.spec.sampling.window_stride.FromMilliseconds(250)
    request.spec.embed.per_window = True
    result = server.video.AnalyzeClip(request, timeout=30).result
    count = len(result.windows)
    assert count > 1 and len(result.embeddings) == count + 1
    whole, windows = vectors(result.embeddings)[0], vectors(result.embeddings)[1:]
    assert windows == [tuple(window.embedding.values) for window in result.windows]
    for at, window in enumerate(result.windows):
        assert result.embeddings[at + 1].start_offset == window.start_offset
        assert result.embeddings[at + 1].end_offset == window.end_offset
        assert len(window.text_matches) == 1
    mean = [sum(column) / count for column in zip(*windows)]
    assert largest_difference(whole, mean) < 1e-6
    similarity = sum(window.text_matches[0].similarity for window in result.windows) / count
    assert abs(result.text_matches[0].similarity - similarity) < 1e-6


def test_the_model_says_what_it_takes(server):
    answer = server.models.GetModel(pb.GetModelRequest(), timeout=10)
    assert list(answer.model.tasks) == [pb.TASK_CLASSIFY, pb.TASK_EMBED, pb.TASK_MATCH_TEXT,
                                        pb.TASK_DETECT_ACTIONS]
    assert answer.model.embedding_dim == 64
    assert list(answer.model.prompts) == ["{}"]
    assert answer.model.max_text_tokens == 24
    assert answer.limits.max_texts == 1000 and answer.limits.max_text_bytes == 4096
    for texts, field in [([], "texts"), (["left"] * 1001, "texts"), (["x" * 4097], "texts[0]")]:
        with pytest.raises(grpc.RpcError) as caught:
            embed(server, texts)
        assert details(caught.value)["ErrorInfo"].metadata["field"] == field


def test_texts_are_counted(server):
    before = server.metric('scanline_texts_total{method="EmbedText"')
    embed(server, ["left", "right"])
    assert server.metric('scanline_texts_total{method="EmbedText"') == before + 2
    assert server.metric("scanline_inflight_requests") == 0
