#include "client/cli/text_batch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/text_file.h"
#include "client/cli/text_width.h"
#include "client/utf8.h"

namespace scanline::cli {
namespace {

constexpr size_t kTextsARequest = 128;
constexpr absl::string_view kIndexMark = "texts[";

// Where a message names a text by its index: "texts[3]".
struct IndexInText {
  size_t begin = 0;
  size_t end = 0;
  size_t index = 0;
};

std::optional<IndexInText> FindIndex(absl::string_view message, size_t from) {
  for (size_t at = from; (at = message.find(kIndexMark, at)) != message.npos; ++at) {
    const size_t digits = at + kIndexMark.size();
    const size_t close = message.find(']', digits);
    IndexInText found{at, close + 1, 0};
    if (close != message.npos &&
        absl::SimpleAtoi(message.substr(digits, close - digits), &found.index)) {
      return found;
    }
  }
  return std::nullopt;
}

bool IsOfPath(char c) {  // of a field: spec.match_text.texts
  return absl::ascii_islower(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

std::vector<absl::StatusOr<TextVector>> AllFailed(size_t count, const absl::Status& status) {
  return std::vector<absl::StatusOr<TextVector>>(count, status);
}

// A text that was sent alone is texts[0] of its request.
v1::Warning AsAlone(v1::Warning warning, const IndexInText& place) {
  warning.mutable_message()->replace(place.begin, place.end - place.begin, "texts[0]");
  return warning;
}

std::vector<absl::StatusOr<TextVector>> Unpack(v1::EmbedTextResponse response) {
  std::vector<absl::StatusOr<TextVector>> vectors;
  std::vector<TextVector> texts(static_cast<size_t>(response.embeddings_size()));
  for (size_t i = 0; i < texts.size(); ++i) {
    texts[i].embedding = std::move(*response.mutable_embeddings(static_cast<int>(i)));
  }
  for (const v1::Warning& warning : response.warnings()) {
    const auto place = FindIndex(warning.message(), 0);
    if (place.has_value() && place->index < texts.size()) {
      texts[place->index].warnings.push_back(AsAlone(warning, *place));
    } else {  // About all of them, as far as can be told.
      for (TextVector& text : texts) text.warnings.push_back(warning);
    }
  }
  for (TextVector& text : texts) vectors.emplace_back(std::move(text));
  return vectors;
}

}  // namespace

bool IsAboutAText(const v1::Warning& warning) {
  return warning.reason() == "UNKNOWN_TERMS" || warning.reason() == "TEXT_TRUNCATED";
}

bool IsAboutAText(const ClientError& error) {
  if (error.reason != ReasonName(Reason::kFieldInvalid)) return false;
  return FindIndex(error.message, 0).has_value() ||
         std::any_of(error.metadata.begin(), error.metadata.end(), [](const auto& fact) {
           return fact.first == "field" && absl::StrContains(fact.second, "texts");
         });
}

std::string NameTexts(absl::string_view message, const std::vector<std::string>& texts) {
  std::string named;
  size_t from = 0;
  while (const auto place = FindIndex(message, from)) {
    absl::StrAppend(&named, message.substr(from, place->begin - from));
    if (place->index < texts.size()) {
      while (!named.empty() && IsOfPath(named.back())) named.pop_back();
      absl::StrAppend(&named, "\"", texts[place->index], "\"");
    } else {
      absl::StrAppend(&named, message.substr(place->begin, place->end - place->begin));
    }
    from = place->end;
  }
  return absl::StrCat(named, message.substr(from));
}

absl::StatusOr<std::vector<TextLine>> ReadTextLines(const std::string& file) {
  SCANLINE_ASSIGN_OR_RETURN(const std::string all, ReadTextFile("the texts of", file));
  std::vector<TextLine> texts;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(absl::StripPrefix(all, "\xEF\xBB\xBF"), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (!IsUtf8(line)) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ", line ", number, ": the text is not UTF-8"));
    }
    texts.push_back({std::string(line), number});
  }
  if (texts.empty()) return absl::InvalidArgumentError(absl::StrCat("no text in ", file));
  return texts;
}

absl::StatusOr<std::vector<std::string>> ReadTexts(const std::string& file) {
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<TextLine> lines, ReadTextLines(file));
  std::vector<std::string> texts;
  for (const TextLine& line : lines) texts.push_back(line.text);
  return texts;
}

absl::Status CheckTextSizes(const std::vector<std::string>& texts, const v1::ServerLimits& limits) {
  const size_t limit = limits.max_text_bytes();
  for (const std::string& text : texts) {
    if (limit == 0 || text.size() <= limit) continue;
    return MakeClientError(absl::StatusCode::kInvalidArgument, ReasonName(Reason::kFieldInvalid),
                           absl::StrCat("the text that begins with \"", FitText(text, 40), "\" is ",
                                        text.size(), " bytes; this server takes up to ", limit));
  }
  return absl::OkStatus();
}

size_t TextsARequest(const v1::ServerLimits& limits) {
  const size_t limit = limits.max_texts();
  return limit == 0 ? kTextsARequest : std::min(limit, kTextsARequest);
}

std::vector<absl::StatusOr<TextVector>> EmbedTexts(Client& client, const std::string& model,
                                                   const std::vector<std::string>& texts,
                                                   absl::Duration timeout) {
  auto response = client.EmbedText(model, texts, timeout);
  if (response.ok()) {
    if (static_cast<size_t>(response->embeddings_size()) == texts.size()) {
      return Unpack(*std::move(response));
    }
    return AllFailed(texts.size(), absl::InternalError(absl::StrCat(
                                       "the server answered ", texts.size(), " texts with ",
                                       response->embeddings_size(), " embeddings")));
  }
  const absl::Status& status = response.status();
  if (texts.size() <= 1 || ErrorOf(status).reason != ReasonName(Reason::kFieldInvalid)) {
    return AllFailed(texts.size(), status);
  }
  // Halves, until the text that is refused is alone.
  const auto middle = texts.begin() + static_cast<std::ptrdiff_t>(texts.size() / 2);
  auto vectors = EmbedTexts(client, model, {texts.begin(), middle}, timeout);
  for (auto& vector : EmbedTexts(client, model, {middle, texts.end()}, timeout)) {
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

}  // namespace scanline::cli
