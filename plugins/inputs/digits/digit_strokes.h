// SPDX-License-Identifier: Apache-2.0
// How the ten digits are written: for each a few styles, each a few strokes of a pen in a box of width and height 1, x
// to the right and y down.
#pragma once

namespace digits_input {

struct Point {
  float x = 0, y = 0;
};

constexpr int kMaxPoints = 12;
constexpr int kMaxStrokes = 3;

struct Stroke {
  enum Kind { kLines, kCurve };  // straight from point to point, or a smooth curve through them
  Kind kind = kLines;
  int size = 0;
  Point points[kMaxPoints] = {};
};

struct Style {
  int size = 0;
  Stroke strokes[kMaxStrokes] = {};
};

// Style `pick` in [0, 1) of digit 0 to 9.
const Style& digit_style(int digit, float pick);

}  // namespace digits_input
