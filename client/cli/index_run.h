#pragma once

#include <string>
#include <vector>

#include "client/cli/args.h"
#include "client/cli/exit_code.h"
#include "client/cli/interrupt.h"
#include "client/cli/session.h"
#include "client/cli/terminal.h"
#include "client/index/index_writer.h"
#include "client/index/skipped.h"

namespace scanline::cli {

// How the file looks now: nothing of what cannot be looked at, which sending it says.
FileStamp StampOf(const std::string& path);

// An index of this model's vectors.
IndexInfo InfoOf(const v1::Model& model);

// The request whose answer has a vector for each window of a clip. Windows that `info` leaves open
// (0) are the model's own.
v1::AnalysisSpec IndexSpec(const IndexInfo& info, const std::string& model, bool allow_partial);

// A file's moments out of its answer, and a row of `dim` numbers for each in `rows`. INTERNAL where
// the answer is not what IndexSpec asks for.
absl::StatusOr<std::vector<Item>> MomentsOf(const v1::ClipResult& result, const FileStamp& file,
                                            const std::string& sha256, int dim,
                                            std::vector<float>& rows);

// What a run did to the files that it was to send.
struct IndexSent {
  int added = 0;   // answered and in the index
  int failed = 0;  // in skipped.ndjson
  int not_done = 0;
  ExitCode stopped = kExitOk;  // what ended the run before its time
};

// Sends `files` and puts their moments into the index, in this order, whatever the number of jobs.
// An answer counts as soon as it can be kept: what a killed run leaves is never asked for again.
// `total` and `done` are for the progress: files in all, and those that need not be sent.
IndexSent SendToIndex(const Args& args, const Terminal& terminal, const Interrupt& interrupt,
                      const Session& session, const std::vector<FileStamp>& files, int total,
                      int done, IndexWriter& writer);

}  // namespace scanline::cli
