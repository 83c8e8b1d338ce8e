#pragma once

#include "model/config.h"

namespace scanline {

// Row 0 is cls. Patch `cell` (row-major in the grid) of step t stands at 1 + t * cells + cell
// (spatial first) or 1 + cell * steps + t (temporal first). kAlternating has no order of its own.
int TokenRow(ScanOrder order, int step, int cell, const BackboneConfig& config);

// The order that layer `layer` scans in: spatial or temporal first.
ScanOrder LayerOrder(ScanOrder order, int layer);

// The order of the tokens that come out of the backbone.
ScanOrder OutputOrder(ScanOrder order);

// Rows of [tokens][embed_dim] from one order to another; `to` must not overlap `from`.
void Reorder(const float* from, ScanOrder from_order, float* to, ScanOrder to_order,
             const BackboneConfig& config);

// `normed`: [tokens][embed_dim] after the final norm, in OutputOrder(config.scan_order); for kCls
// only row 0 is read. `pooled` has config.pooled_dim() values:
//   cls                n[cls]
//   avg                mean of the patch tokens
//   cls+avg            n[cls] + mean of the patch tokens
//   cls+avg|delta|max  the former; mean of the second half of the steps minus mean of the first
//   (the
//                      middle one of an odd number in neither); maximum over the patch tokens
void PoolTokens(const float* normed, const BackboneConfig& config, float* pooled);

// How many vectors PoolSteps gives: one a step, but one alone for kCls, which no step shares in.
int PooledSteps(const BackboneConfig& config);

// The same for every step on its own, [PooledSteps][embed_dim]: avg is the mean over the patches of
// the step, cls+avg n[cls] + that. Not for kClsPlusAvgDeltaMax. Official code: keep_temporal in
// video_mm/models/backbones/videomamba/videomamba.py.
void PoolSteps(const float* normed, const BackboneConfig& config, float* pooled);

}  // namespace scanline
