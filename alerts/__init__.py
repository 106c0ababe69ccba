"""When something is wrong: rules, conditions over arrays of instances × ticks, and the machine that follows them."""
