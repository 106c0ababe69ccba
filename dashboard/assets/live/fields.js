// Fields that somebody is filling in. What the server knows of one is its initial value.

const TYPED = "input:not([type=hidden]), textarea, select";

// The value that the server wrote for a field.
export function initial(field) {
  if (field.nodeName !== "SELECT") return field.defaultValue;
  return ([...field.options].find((option) => option.defaultSelected) ?? field.options[0])?.value ?? "";
}

export function isTyped(node) {
  return node.nodeType === Node.ELEMENT_NODE && node.matches(TYPED);
}

// Whether `field` holds what somebody writes or chooses, and not what the server wrote before or writes now.
export function inUse(field, wanted) {
  if (field.value === initial(wanted)) return false;
  return field === document.activeElement || field.value !== initial(field);
}
