#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/client.h"

namespace scanline::cli {

// Whether a warning is about a text of the request rather than about the clip: UNKNOWN_TERMS,
// TEXT_TRUNCATED.
bool IsAboutAText(const v1::Warning& warning);
// The same of an error: FIELD_INVALID of `texts`. It is that of every clip that is sent with them.
bool IsAboutAText(const ClientError& error);

// A message of the server with each field `texts[i]` of it, and what is before that in its path,
// replaced by the text itself, in quotes.
std::string NameTexts(absl::string_view message, const std::vector<std::string>& texts);

struct TextLine {
  std::string text;
  int line = 0;  // from 1
};

// One text a line: spaces around it, empty lines and a byte order mark do not count. Errors: a file
// that cannot be read or holds no text, a line that is no UTF-8.
absl::StatusOr<std::vector<TextLine>> ReadTextLines(const std::string& file);
absl::StatusOr<std::vector<std::string>> ReadTexts(const std::string& file);

// OK, or FIELD_INVALID naming the first text of them that the server would refuse by its length.
absl::Status CheckTextSizes(const std::vector<std::string>& texts, const v1::ServerLimits& limits);

// How many texts go into one request: few enough that progress shows and a batch that is tried
// again is cheap, and never more than the server takes.
size_t TextsARequest(const v1::ServerLimits& limits);

// One text's vector, with the warnings that are about it, as if it had been sent alone.
struct TextVector {
  v1::Embedding embedding;
  std::vector<v1::Warning> warnings;
};

// The vectors of `texts`, which fit into one request, in their order. A text that the server
// refuses (FIELD_INVALID: no word of it is known) has its own error and costs the others nothing;
// any other error is that of every text.
std::vector<absl::StatusOr<TextVector>> EmbedTexts(Client& client, const std::string& model,
                                                   const std::vector<std::string>& texts,
                                                   absl::Duration timeout);

}  // namespace scanline::cli
