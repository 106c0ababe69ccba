// The space around the lines of a chart, px: values on the left, a little air on the other sides.
export const LEFT = 56, RIGHT = 8, TOP = 8, BOTTOM = 6;
