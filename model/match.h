#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clip.h"
#include "model/predictor.h"

namespace scanline {

// What a clip's views say together: the mean of their vectors, not normalised again, so that its
// dot product with a text's vector is the mean of the views' similarities.
struct ClipEmbeddings {
  std::vector<float> clip;                  // empty: there are no vectors
  std::vector<std::vector<float>> windows;  // one a window of the clip
};

// `views`: Prediction::embeddings or raw_embeddings.
ClipEmbeddings MeanEmbeddings(const Clip& clip, const std::vector<std::vector<float>>& views);

// The `count` texts of the prediction that are most similar to the clip, in the order of the
// request; of equal ones the earlier. Official code: k_test in tasks/retrieval_utils.py.
std::vector<size_t> BestTexts(const Clip& clip, const Prediction& prediction, size_t count);

// Every label in every template, label-major: {} stands for the label (CLIP's zero-shot practice,
// arXiv 2103.00020, 3.1.4). Match takes the vectors of one label together again.
std::vector<std::string> WithPrompts(const std::vector<std::string>& labels,
                                     const std::vector<std::string>& prompts);

struct TextMatch {
  float similarity = 0;   // dot product of the embeddings as scored: a cosine where they are unit
  float score = 0;        // softmax of similarity / temperature over the texts
  float match_logit = 0;  // mean over the views, with rerank; -100: not among the texts looked at
};

struct TextMatches {
  std::vector<TextMatch> clip;                  // one a text, in the order of the request
  std::vector<std::vector<TextMatch>> windows;  // the same for every window of the clip
};

// Compares the clip with prediction.texts. With `prompts_per_text` > 1, each text of the answer is
// that many consecutive ones (WithPrompts): the mean of their unit vectors, normalised again.
// `temperature`: ModelBundle::temperature(), more than 0.
TextMatches Match(const Clip& clip, const Prediction& prediction, float temperature,
                  int prompts_per_text = 1);

}  // namespace scanline
