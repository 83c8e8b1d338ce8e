#pragma once

#include "model/text/unicode.h"

namespace scanline {

// A caption as the official evaluation hands it to WordPiece: lower case; , . ' ! ? " ( ) * # : ; ~
// taken out; - and / are spaces; <person> is person; white space of two and more is one space; no
// line ends at the end, no spaces around. Official code: dataset/utils.py, pre_text.
CodePoints CleanUpCaption(const CodePoints& caption);

}  // namespace scanline
