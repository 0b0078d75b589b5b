// SPDX-License-Identifier: Apache-2.0
// The shapes of the ten digits. Each has a few styles, and a style has a few pen strokes. They lie in a box of width
// and height 1, with x to the right and y down.
#pragma once

namespace digits_input {

struct Point {
  float x = 0, y = 0;
};

constexpr int kMaxPoints = 12;
constexpr int kMaxStrokes = 3;

struct Stroke {
  enum Kind { kLines, kCurve };  // straight lines between the points, or a smooth curve through them
  Kind kind = kLines;
  int size = 0;
  Point points[kMaxPoints] = {};
};

struct Style {
  int size = 0;
  Stroke strokes[kMaxStrokes] = {};
};

// Returns the style of digit 0 to 9 that `pick` in [0, 1) selects.
const Style& digit_style(int digit, float pick);

}  // namespace digits_input
