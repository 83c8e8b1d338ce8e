#include "client/cli/zero_shot.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/text_batch.h"

namespace scanline::cli {
namespace {

// `answer`: a clip's or a window's.
template <typename Answer>
void Label(const std::vector<std::string>& labels, float temperature, const Args& args,
           Answer& answer) {
  const auto& matches = answer.text_matches();
  std::vector<int> order(std::min(labels.size(), static_cast<size_t>(matches.size())));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return matches[a].score() > matches[b].score(); });
  answer.clear_classes();
  for (const int i : order) {
    if (answer.classes_size() == args.top_k || matches[i].score() < args.min_score) break;
    v1::ClassScore* one = answer.add_classes();
    one->set_class_index(static_cast<uint32_t>(i));
    one->set_label(labels[static_cast<size_t>(i)]);
    one->set_score(matches[i].score());
    if (temperature > 0) one->set_logit(matches[i].similarity() / temperature);
  }
}

}  // namespace

absl::StatusOr<std::vector<TextLine>> ReadLabels(const std::string& file,
                                                 const v1::ServerLimits& limits) {
  SCANLINE_ASSIGN_OR_RETURN(std::vector<TextLine> labels, ReadTextLines(file));
  std::map<absl::string_view, int> line_of;
  std::vector<std::string> texts;
  for (const TextLine& label : labels) {
    const auto [first, is_new] = line_of.emplace(label.text, label.line);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(file, " has the label \"", label.text,
                                                     "\" twice: lines ", first->second, " and ",
                                                     label.line));
    }
    texts.push_back(label.text);
  }
  if (limits.max_texts() > 0 && labels.size() > limits.max_texts()) {
    return absl::InvalidArgumentError(absl::StrCat(file, " has ", labels.size(),
                                                   " labels; this server takes up to ",
                                                   limits.max_texts(), " texts"));
  }
  SCANLINE_RETURN_IF_ERROR(CheckTextSizes(texts, limits));
  return labels;
}

absl::Status CheckLabels(const std::string& file, const std::vector<TextLine>& labels,
                         const Session& session, absl::Duration timeout) {
  const size_t step = TextsARequest(session.limits);
  for (size_t from = 0; from < labels.size(); from += step) {
    std::vector<std::string> texts;
    for (size_t i = from; i < std::min(from + step, labels.size()); ++i) {
      texts.push_back(labels[i].text);
    }
    const auto vectors = EmbedTexts(*session.client, session.model.name(), texts, timeout);
    for (size_t i = 0; i < vectors.size(); ++i) {
      if (vectors[i].ok()) continue;
      ClientError error = ErrorOf(vectors[i].status());
      if (!IsAboutAText(error)) return vectors[i].status();
      return MakeClientError(error.code, error.reason,
                             absl::StrCat(file, ", line ", labels[from + i].line, ": ",
                                          NameTexts(error.message, {texts[i]})),
                             {{"field", "texts"}});
    }
  }
  return absl::OkStatus();
}

void AskForLabels(const std::vector<std::string>& labels, v1::AnalysisSpec& spec) {
  spec.clear_tasks();
  spec.clear_classify();
  spec.add_tasks(v1::TASK_MATCH_TEXT);
  spec.mutable_match_text()->set_use_prompts(true);
  for (const std::string& label : labels) spec.mutable_match_text()->add_texts(label);
}

void LabelByTexts(const std::vector<std::string>& labels, float temperature, const Args& args,
                  absl::StatusOr<v1::ClipResult>& result) {
  if (!result.ok()) {
    ClientError error = ErrorOf(result.status());
    if (!IsAboutAText(error)) return;
    error.metadata.emplace_back("field", "match_text.texts");  // The message says it no more.
    result =
        MakeClientError(error.code, error.reason, NameTexts(error.message, labels), error.metadata);
    return;
  }
  Label(labels, temperature, args, *result);
  for (v1::WindowResult& window : *result->mutable_windows()) {
    Label(labels, temperature, args, window);
  }
  for (v1::Warning& warning : *result->mutable_warnings()) {
    if (IsAboutAText(warning)) warning.set_message(NameTexts(warning.message(), labels));
  }
}

}  // namespace scanline::cli
