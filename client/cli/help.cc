#include "client/cli/help.h"

namespace scanline::cli {

const char* OverviewHelp() {
  return R"(Say what happens in video clips: the client of a scanline-server.

Usage: scanline VERB [ARGUMENTS] [FLAGS]
  classify INPUT...  label clips
  detect INPUT...    who does what, where, at which second
  embed INPUT...     vectors of clips, or of texts
  eval classify      compare the labels with true ones: accuracy, confusions
  eval retrieval     find clips by their captions: recall at 1, 5 and 10
  eval ava           compare detections with true ones: frame mAP
  index INPUT...     make clips searchable: a folder of vectors
  search INDEX TEXT  find moments by a text or a clip
  export INDEX       the vectors for a vector database
  models             list the models that the server has
  health             ask whether the server is ready
  import FILE        make a model of a PyTorch or safetensors checkpoint

Examples:
  scanline classify clip.mp4
  scanline models --server gpu-box:50051

Each verb explains itself: scanline classify --help. The version: scanline --version
Exit codes: 0 all fine, 1 some input failed, 2 usage or settings, 3 server not
reachable or not ready, 4 no such model or task, 5 credentials refused, 130 interrupted
)";
}

const char* VerbHelp(Verb verb) {
  switch (verb) {
    case Verb::kClassify:
      return R"(Label clips. INPUT: a file, a pattern, @LIST, - or a folder: all in it that is a
  video or named like one (.mp4, ...); one that is empty or unreadable fails
Usage: scanline classify INPUT... [FLAGS]
  scanline classify clips/ --top-k 3
  scanline classify match.mp4 --texts labels.txt --window-stride 1 --format csv
Answer
  --texts FILE           labels of your own, one a line [the model's classes]
  --top-k N              labels a clip [5];  --include-logits  too, in JSON
  --min-score S          leave out labels below it, 0 to 1 [0]
  --format F             auto, table, ndjson, json, csv [table on a terminal]
  --allow-partial        answer for the good part of a damaged clip
  --save FILE            of one INPUT: labels on its pictures: .mp4, .webm, .png
                         or beside it: .ass, .vtt;  --force  replace FILE
Frames (unset: as the model was trained)
  --start S, --end S     only this part, seconds [the whole clip]
  --window S             seconds;  --window-stride S  labels of each, too
  --frames N             frames a view;  --sample-rate HZ  the same, a second
  --temporal-views N     stretches to average;  --spatial-views N  crops
Run
  --model NAME           [the server's first];  --timeout S  for one input [60]
  --jobs N               inputs at once [4];  --fail-fast  end at a failed one
  --progress W           auto, always, never [auto];  --color W  the same [auto]
Settings (flag > SCANLINE_FLAG > FILE > default)
  --server HOST:PORT     [127.0.0.1:50051];  --config FILE  TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kDetect:
      return R"(Say who does what, where, at which second. INPUT: as of classify.
Usage: scanline detect INPUT... [FLAGS]
  scanline detect street.mp4 --tracks --save out.mp4 --save sheet.png
  scanline detect clips/ --interval 0.5 --format csv
Answer
  --interval S           a look every S seconds [the model's own]
  --boxes CSV            people you know of, rows time,x1,y1,x2,y2 in 0..1; time
                         empty: at every look [the server finds them]
  --tracks               the same person has the same number
  --min-person-score S   leave out people below it [the model's own]
  --min-score S          and actions;  --top-k N  actions a person, 0: all [3]
  --format F             auto, table, ndjson, json, csv [table on a terminal]
  --include-logits       too, in JSON
  --save FILE            of one INPUT, as often as needed: .mp4, .webm, a sheet
                         .png, .ass, .vtt, COCO .json, CVAT .xml, AVA's .csv
                         (of all actions, unless --top-k is given)
  --force                replace FILE
Run
  --start S, --end S     only this part;  --allow-partial  of damaged clips too
  --model NAME           [the server's first];  --timeout S  for one input [60]
  --jobs N               inputs at once [4];  --fail-fast  end at a failed one
  --progress W           auto, always, never [auto];  --color W  the same [auto]
Settings (flag > SCANLINE_FLAG in the environment > FILE > default)
  --server HOST:PORT     [127.0.0.1:50051];  --config FILE  TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kEmbed:
      return R"(Vectors of clips (INPUT as of classify), or of texts: one space, to search in.
Usage: scanline embed INPUT... | --text TEXT | --texts FILE [FLAGS]
  scanline embed clips/ -o clips.npy
  scanline embed --text "a dog jumps" --text "a red car" --format json
Answer
  --text TEXT            a text, as often as needed;  --texts FILE  one a line
  --per-window           also one vector for each window of a clip
  --no-normalize         of clips: the vectors before they get unit length
  -o, --output X.npy     float32 [n, d], rows named by X.jsonl;  --force  anew
  --format F             auto, table, ndjson, json, csv [table on a terminal]
Frames (unset: as the model was trained; the help of classify explains them)
  --start S, --end S, --window S, --window-stride S, --frames N,
  --sample-rate HZ, --temporal-views N, --spatial-views N, --allow-partial
Run
  --model NAME           [the server's first];  --timeout S  for one input [60]
  --jobs N               inputs at once [4];  --fail-fast  end at a failed one
  --progress W           auto, always, never [auto];  --color W  the same [auto]
Settings (flag > SCANLINE_FLAG in the environment > FILE > default)
  --server HOST:PORT     [127.0.0.1:50051]
  --config FILE          TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kEval:
      return R"(Compare answers with the true ones: labels, captions, or who does what (ava).
Usage: scanline eval classify|retrieval --manifest FILE [FLAGS]
       scanline eval ava --truth CSV --detections CSV|--clips DIR -o DIR [FLAGS]
  scanline eval classify --manifest val.csv -o report
  scanline eval ava --truth ava_val.csv --detections out.csv --actions ava.tsv
Manifest: a CSV with the columns path,label (or path,caption) or a JSON list of
  such objects; paths begin at its folder; labels are names, or indices from 0
Answer: top-1, top-5, confusions; or recall at 1, 5, 10, both ways; 95 %
  intervals; what was skipped, and why (exit code 1). ava: frame mAP at IoU 0.5
  --manifest FILE        the clips and what is true of them
  --rerank               retrieval: also by the fusion layers, of the 128 best
  --truth CSV            ava: rows video,second,x1,y1,x2,y2,action[,person]
  --detections CSV       ava: the same with a score, as detect writes them
  --clips DIR            ava: finds them first, in clips with the videos' names;
  --true-boxes of true people, or --interval S, --min-person-score P of detect
  --exclude CSV          ava: not these video,second;  --actions TSV  only these
  --output DIR, -o DIR   predictions.ndjson, summary.json; a stopped run goes on
  --format F             auto, table, ndjson, json, csv [table on a terminal]
Frames and run, as of classify: --start S, --end S, --window S,
  --window-stride S, --frames N, --sample-rate HZ, --temporal-views N,
  --spatial-views N, --allow-partial, --model NAME, --timeout S, --jobs N,
  --progress W, --color W
Settings (flag > SCANLINE_FLAG in the environment > FILE > default)
  --server HOST:PORT     [127.0.0.1:50051];  --config FILE  TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kIndex:
      return R"(Make clips searchable: vectors of their windows, kept in a folder. Only new and
  changed files are sent; a run that was stopped goes on with the same command.
Usage: scanline index INPUT... -o INDEX [FLAGS]
  scanline index videos/ -o idx
  scanline index videos/ -o idx --window 4 --stride 2 --jobs 8
INPUT: a file, a folder, a pattern or @LIST, as for classify
Answer: how many files there are, came, went; skipped ones are in
  INDEX/skipped.ndjson, with exit code 1 if any of them failed
  --output INDEX, -o INDEX   made where it does not exist
  --format F             auto, table, ndjson, json, csv [table on a terminal]
Moments (unset: those of the index; in a new one the model's own windows)
  --window S             length of a window, seconds;  --stride S  between two
  --model NAME           [that of the index; in a new one the server's first]
  --allow-partial        take the good part of a damaged clip
Run
  --prune                drop files that are gone
  --rebuild              send all again: another model, other windows
  --retry                send again what could not be read
  --timeout S            for one clip, seconds [60];  --jobs N  at once [4]
  --progress W           auto, always, never [auto];  --color W  the same [auto]
Settings (flag > SCANLINE_FLAG > FILE > default)
  --server HOST:PORT     [127.0.0.1:50051];  --config FILE  TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kSearch:
      return R"(Find the moments of indexed clips that fit a text or a clip, by exact search.
Usage: scanline search INDEX TEXT|--clip FILE [FLAGS]
  scanline search idx "a person opens a door"
  scanline search idx --clip goal.mp4 -k 20 --save sheet.png
Answer: score, file, from, to, and a command that opens the moment. Of moments
  of one file that overlap only the best is shown
  --clip FILE            find what looks like this clip
  --top-k N, -k N        moments [10]
  --per-file             the best moment of each file alone
  --rerank               order them by the model's matching score: sends each
                         moment again, for models that have one
  --save FILE.png        their pictures on one sheet;  --force  replace FILE
  --format F             auto, table, ndjson, json, csv [table on a terminal]
Run
  --model NAME           [that of the index]
  --timeout S            for one clip, seconds [60];  --jobs N  at once [4]
  --color W              auto, always, never [auto; NO_COLOR is honoured]
Settings (flag > SCANLINE_FLAG in the environment > FILE > default)
  --server HOST:PORT     [127.0.0.1:50051]
  --config FILE          TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kExport:
      return R"(Write an index in a form that other programs read. Asks no server.
Usage: scanline export INDEX [FLAGS]
  scanline export idx --to jsonl | head -n 1 | jq .id
  scanline export idx -o vectors.csv
Forms
  jsonl  a line a moment: id, path, start_s, end_s, sha256, ..., vector
  csv    the same, a row a moment; the vector as [a,b,...], as pgvector takes it
  npy    the vectors alone, float32 [moments, dim], in the order of the others
Where
  --to FORM              npy, jsonl, csv [as FILE ends, or jsonl]
  --output FILE, -o FILE [standard output]
  --force                replace FILE
Settings (flag > SCANLINE_FLAG in the environment > FILE > default)
  --config FILE          TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kModels:
      return R"(List the models that the server has, with what they take and answer.
Usage: scanline models [FLAGS]
  scanline models
  scanline models --format ndjson | jq -r .name
Answer
  --format F             auto, table, ndjson, json, csv [table on a terminal]
  --color W              auto, always, never [auto; NO_COLOR is honoured]
Settings (flag > SCANLINE_FLAG in the environment > FILE > default)
  --server HOST:PORT     [127.0.0.1:50051]
  --config FILE          TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kHealth:
      return R"(Ask whether the server is ready: exit code 0 if it is, 3 if not.
Usage: scanline health [FLAGS]
  scanline health --server 10.0.0.7:50051
  until scanline health > /dev/null 2>&1; do sleep 1; done
Answer
  --format F             auto, table, ndjson, json, csv [table on a terminal]
  --color W              auto, always, never [auto; NO_COLOR is honoured]
Settings (flag > SCANLINE_FLAG in the environment > FILE > default)
  --server HOST:PORT     [127.0.0.1:50051]
  --config FILE          TOML, key = flag
  --print-config         show each setting with its origin;  --help
)";
    case Verb::kImport:
      return R"(Make a model folder of a VideoMamba checkpoint. Nothing in FILE is executed.
Usage: scanline import FILE --labels NAME|FILE --name NAME [FLAGS]
       scanline import FILE --vocab FILE --name NAME [FLAGS]
  scanline import t16.pth --labels kinetics400 --name k400-t16 -o models
  scanline import msrvtt.pth --vocab bert/vocab.txt --name msrvtt -o models
What it is
  --labels NAME|FILE     kinetics400, ssv2, ucf101, hmdb51, ava; or one a line
  --vocab FILE           of a model of video and text: BERT's vocab.txt
  --name NAME            of the model
  -o, --output DIR       the folder becomes DIR/NAME [.]
  --license TEXT         of the weights [not stated];  --force  replace DIR/NAME
What the file does not say (unset: as it was trained)
  --mixer PRESET         videomamba, videomambapro_v1, _v2, _intended, _paper
  --frames N             a view;  --size PX  its side; interpolates embeddings
  --tubelet N            frames a patch, of images [1];  --detect  head of boxes
  --rule RULE            k400_sparse, k400_dense, ssv2, uniform, middle
  --temporal-views N     stretches to average;  --spatial-views N  crops
                         [ssv2: rule ssv2, 2 x 3; else k400_sparse, 4 x 3]
  --heads N              of the text tower [one for every 64 of its width]
  --max-text-length N    tokens [32];  --pool cls, avg, cls+avg [cls+avg]
  --no-keep-temporal     one vector a clip, not the mean of one a frame
  --drop-unexpected      leave out tensors that the model does not have
Settings (flag > SCANLINE_FLAG > FILE > default)
  --config FILE          TOML;  --print-config  show where each is from;  --help
)";
  }
  return "";
}

}  // namespace scanline::cli
