"""Actions of people through the whole server, over gRPC: the model card's box figures, people that
the server finds by itself, and boxes that cannot be meant."""

import contextlib
import json
import math
import os
import pathlib
import struct

import grpc
import pytest

from server_process import CLIPS, SOURCE, details, expected_clips, pb, running

TOLERANCE = 1e-4  # As for the classes: server_clips_test.py.
PEDESTRIANS = SOURCE / "assets/clips/pedestrians_12s.avi"  # 768 x 576, 12 s


def detector_folder():
    """Where the person detector is; fails where it should be and is not."""
    if os.environ.get("SCANLINE_NO_PERSON_DETECTOR") == "1":
        pytest.skip("SCANLINE_NO_PERSON_DETECTOR=1 says that it cannot be fetched here")
    cache = os.environ.get("SCANLINE_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    folder = pathlib.Path(os.environ.get("SCANLINE_PERSON_DETECTOR")
                          or pathlib.Path(cache or user + "/scanline") / "person-detector-0.2")
    assert folder.exists(), (f"no person detector in {folder}: run ./dev setup, or say "
                             "SCANLINE_NO_PERSON_DETECTOR=1 where PyPI cannot be reached")
    return folder


@pytest.fixture(scope="module")
def finder():
    with running("--workers", "2", "--person-detector", str(detector_folder())) as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One that finds nobody by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCANLINE_CACHE", str(tmp_path_factory.mktemp("no_cache")))
        started = running("--workers", "2")
        server = started.__enter__()
    with contextlib.ExitStack() as stack:
        stack.push(started)
        yield server


def spec_of(boxes, *tasks, **options):
    """`boxes`: corners, or corners and a time in seconds."""
    spec = pb.AnalysisSpec(tasks=[pb.TASK_DETECT_ACTIONS, *tasks])
    spec.classify.include_logits = True
    for box in boxes:
        corners = dict(zip(("x_min", "y_min", "x_max", "y_max"), box))
        proposal = spec.detect.proposals.add(**corners)
        if len(box) > 4:
            proposal.time_offset.FromNanoseconds(round(box[4] * 1e9))
    for name, value in options.items():
        if name == "keyframe_interval":
            spec.detect.keyframe_interval.FromNanoseconds(round(value * 1e9))
        else:
            setattr(spec.detect, name, value)
    return spec


def analyze(server, content, spec):
    request = pb.AnalyzeClipRequest(content=content, spec=spec)
    return server.video.AnalyzeClip(request, timeout=60).result


def upload(server, content, spec, chunk=4096):
    messages = [pb.UploadClipRequest(start=pb.UploadClipRequest.Start(spec=spec))]
    messages += [pb.UploadClipRequest(chunk=content[at:at + chunk])
                 for at in range(0, len(content), chunk)]
    return server.video.UploadClip(iter(messages), timeout=60).result


def clips_with_boxes():
    clips = [clip for clip in expected_clips()[1] if clip.get("box")]
    assert clips, "no clip with a box"
    return clips


def check_box(result, expected, labels):
    """The largest difference of a score to the one of the reference's logit."""
    assert len(result.detections) == 1
    person = result.detections[0]
    assert person.person_score == 1
    found = {action.label: action for action in person.classes}
    worst = 0
    for label, logit in zip(labels, expected["logits"]):
        assert abs(found[label].logit - logit) <= TOLERANCE
        worst = max(worst, abs(found[label].score - 1 / (1 + math.exp(-logit))))
    assert [a.score for a in person.classes] == sorted((a.score for a in person.classes),
                                                       reverse=True)
    return worst


def test_boxes_of_the_card(server):
    """Without times, with them, and uploaded: one pass, which is the classes' too."""
    right, asked, worst = 0, 0, 0
    for clip in clips_with_boxes():
        content, box = (CLIPS / clip["file"]).read_bytes(), clip["box"]
        labels = list(box["scores"])
        result = analyze(server, content, spec_of([box["box"]], pb.TASK_CLASSIFY))
        worst = max(worst, check_box(result, box, labels))
        assert result.usage.tokens == 256, "one pass for both tasks"
        assert list(result.sampling.frame_indices) == clip["indices"]
        assert result.classes
        person = result.detections[0]
        place = clip["indices"].index(box["frame"])
        at = result.sampling.frame_offsets[place]
        assert abs(person.keyframe_offset.ToNanoseconds() - at.ToNanoseconds()) < 1000
        if box["motion"] in labels:
            asked += 1
            right += person.classes[0].label == box["motion"]
        if clips_with_boxes().index(clip) % 8 == 0:
            timed = spec_of([box["box"] + [at.ToNanoseconds() / 1e9]])
            alone = upload(server, content, timed)
            assert list(alone.detections[0].classes) == list(person.classes), "the same bits"
            assert not alone.classes
            assert alone.usage.frames_decoded <= clip["frames"], "one pass"
    print(f"worst difference of a score {worst:.2g}; top label right {right} of {asked}")
    assert worst <= TOLERANCE
    if "SCANLINE_MODEL_CLIPS_DIR" not in os.environ:
        assert (asked, round(right / asked, 4)) == (26, 0.9231)


def reference_input(path):
    """The values of a safetensors file's tensor "input", as ClipTensor has them."""
    content = path.read_bytes()
    header = 8 + struct.unpack("<Q", content[:8])[0]
    begin, end = json.loads(content[8:header])["input"]["data_offsets"]
    return content[header + begin:header + end]


def test_a_tensors_boxes_are_those_of_its_picture(server):
    compared = 0
    for path in (SOURCE / "tests/data/tagger24/expected").glob("*.safetensors"):
        clip = next(clip for clip in expected_clips()[1] if clip["file"].startswith(path.stem))
        if not clip.get("box"):
            continue
        tensor = pb.ClipTensor(frames=16, height=64, width=64, values=reference_input(path))
        spec = spec_of([clip["box"]["box_in_square"]])
        request = pb.AnalyzeClipRequest(tensor=tensor, spec=spec)
        result = server.video.AnalyzeClip(request, timeout=30).result
        assert check_box(result, clip["box"], list(clip["box"]["scores"])) <= TOLERANCE
        compared += 1
    assert compared > 0


def test_options_choose_among_the_actions(server):
    clip = clips_with_boxes()[0]
    content, box = (CLIPS / clip["file"]).read_bytes(), clip["box"]["box"]
    everything = analyze(server, content, spec_of([box])).detections[0].classes
    assert len(everything) == 6
    best = analyze(server, content, spec_of([box], top_k=2)).detections[0].classes
    assert list(best) == list(everything)[:2]
    limit = everything[2].score
    over = analyze(server, content, spec_of([box], min_score=limit)).detections[0].classes
    assert list(over) == list(everything)[:3]


def test_a_clip_is_decoded_once_for_all_its_keyframes(server):
    content = PEDESTRIANS.read_bytes()
    result = analyze(server, content, spec_of([(.4, .2, .5, .6)], pb.TASK_CLASSIFY, pb.TASK_EMBED))
    assert [d.keyframe_offset.ToNanoseconds() / 1e9 for d in result.detections] == list(range(1, 12))
    assert result.usage.frames_decoded <= 120, "of a clip of 120 frames"
    assert len(result.sampling.frame_indices) > 120, "the views share them"


def test_boxes_that_the_picture_does_not_show_have_no_actions(server):
    """The model sees the square in the middle: the outer eighths of a 4:3 frame are left out."""
    boxes = [(0, .2, .1, .6, 3), (.4, .2, .5, .6, 3)]
    result = analyze(server, PEDESTRIANS.read_bytes(), spec_of(boxes))
    assert [len(person.classes) for person in result.detections] == [0, 6]
    for person, box in zip(result.detections, boxes):
        corners = (person.box.x_min, person.box.y_min, person.box.x_max, person.box.y_max)
        assert max(abs(a - b) for a, b in zip(corners, box)) < 1e-6
    outside = analyze(server, PEDESTRIANS.read_bytes(), spec_of(boxes[:1]))
    assert outside.usage.tokens == 0 and not outside.sampling.frame_indices


@pytest.mark.parametrize("boxes, field", [
    ([(.1, .1, .2, .2), (math.nan, .1, .2, .2)], "spec.detect.proposals[1].x_min"),
    ([(.1, .1, .2, math.inf)], "spec.detect.proposals[0].y_max"),
    ([(.3, .1, .2, .2)], "spec.detect.proposals[0].x_max"),
    ([(.1, .2, .2, .2)], "spec.detect.proposals[0].y_max"),
    ([(-.1, .1, .2, .2)], "spec.detect.proposals[0].x_min"),
    ([(.1, .1, 1.2, .2)], "spec.detect.proposals[0].x_max"),
    ([(.1, .1, .2, .2, -1)], "spec.detect.proposals[0].time_offset"),
    ([(.1, .1, .2, .2, 1), (.1, .1, .2, .2)], "spec.detect.proposals[1].time_offset"),
    ([(.1, .1, .2, .2)] * 1001, "spec.detect.proposals"),
    ([(.1, .1, .2, .2)] * 100, "spec.detect.proposals"),  # at each of 11 keyframes
])
def test_hostile_boxes(server, boxes, field):
    with pytest.raises(grpc.RpcError) as caught:
        analyze(server, PEDESTRIANS.read_bytes(), spec_of(boxes))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    found = details(caught.value)
    assert found["ErrorInfo"].reason == "FIELD_INVALID"
    assert found["BadRequest"].field_violations[0].field == field


def test_a_box_beyond_the_clip(server):
    with pytest.raises(grpc.RpcError) as caught:
        analyze(server, PEDESTRIANS.read_bytes(), spec_of([(.1, .1, .2, .2, 14)]))
    assert details(caught.value)["ErrorInfo"].reason == "SEGMENT_OUT_OF_RANGE"


def test_without_a_detector_boxes_are_asked_for(server):
    assert not server.models.GetModel(pb.GetModelRequest(), timeout=10).model.finds_people
    with pytest.raises(grpc.RpcError) as caught:
        analyze(server, PEDESTRIANS.read_bytes(), spec_of([]))
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert details(caught.value)["ErrorInfo"].reason == "TASK_UNSUPPORTED"
    assert "./dev setup" in caught.value.details()
    assert "no person detector" in server.log()


def test_people_are_found_linked_and_described(finder):
    """Those of frames 0, 50 and 100 are counted in docs/person_detector.md: 3, 6 and 7."""
    assert finder.models.GetModel(pb.GetModelRequest(), timeout=10).model.finds_people
    content = PEDESTRIANS.read_bytes()
    result = analyze(finder, content, spec_of([], link_tracks=True))
    moments = sorted({d.keyframe_offset.ToNanoseconds() for d in result.detections})
    assert moments[0] == 10**9 and moments[-1] == 11 * 10**9
    at = {second: [d for d in result.detections
                   if d.keyframe_offset.ToNanoseconds() == second * 10**9] for second in (5, 10)}
    assert len(at[5]) == 6 and len(at[10]) == 7
    for person in result.detections:
        assert 0.3 < person.person_score <= 1
        assert 0 <= person.box.x_min < person.box.x_max <= 1
        assert 0 <= person.box.y_min < person.box.y_max <= 1
        seen = person.box.x_max > .125 and person.box.x_min < .875
        assert len(person.classes) == (6 if seen else 0)
        assert all(action.score <= person.person_score for action in person.classes)
    ids = [d.track_id for d in result.detections]
    # A second is long: where it is not clear who is who, somebody gets a new id (docs/detections.md).
    assert min(ids) == 1 and len(set(ids)) <= 2 * len(ids) / 3, "people go on from second to second"
    for second in at:
        assert len({d.track_id for d in at[second]}) == len(at[second])
    assert result.timing.find_people.ToNanoseconds() > 0
    assert result.usage.frames_decoded <= 120
    assert finder.metric('scanline_stage_duration_seconds_count{stage="find_people"') >= 1

    uploaded = upload(finder, content, spec_of([], link_tracks=True), chunk=1 << 16)
    assert list(uploaded.detections) == list(result.detections), "the same bits"
    sure = analyze(finder, content, spec_of([], min_person_score=.9))
    assert 0 < len(sure.detections) < len(result.detections)
    assert all(person.person_score > .9 for person in sure.detections)


def test_nobody_is_an_empty_answer(finder):
    clip = clips_with_boxes()[0]
    result = analyze(finder, (CLIPS / clip["file"]).read_bytes(), spec_of([]))
    assert not result.detections and result.usage.tokens == 0
    assert result.sampling.codec
