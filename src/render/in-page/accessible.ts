import { flatTreeChildren, isRendered } from './dom.js';

/** The role of an element, and a short accessible name, for what can be acted on. */

const NODES_MAX = 200;
const INLINE = /^(a|abbr|b|bdi|code|em|i|kbd|mark|small|span|strong|sub|sup|u|wbr)$/;
/** Roles of elements that people act on. */
const ROLES = new Set(
  'button,link,checkbox,radio,switch,tab,menuitem,menuitemcheckbox,menuitemradio,option,combobox,listbox,textbox,searchbox,slider,spinbutton,treeitem'.split(
    ',',
  ),
);
const INPUT_ROLES: Record<string, string> = {
  button: 'button',
  submit: 'button',
  reset: 'button',
  image: 'button',
  file: 'button',
  color: 'button',
  checkbox: 'checkbox',
  radio: 'radio',
  range: 'slider',
  number: 'spinbutton',
  search: 'searchbox',
};

/** @returns null for an element that is not known to be acted on */
export function roleOf(element: Element): string | null {
  const declared = (element.getAttribute('role') ?? '').slice(0, 100).trim().split(/\s/, 1)[0]?.toLowerCase() ?? '';
  if (ROLES.has(declared)) return declared;
  switch (element.localName) {
    case 'a':
      return element.hasAttribute('href') ? 'link' : null;
    case 'button':
    case 'summary':
      return 'button';
    case 'select':
      return (element as HTMLSelectElement).multiple ? 'listbox' : 'combobox';
    case 'textarea':
      return 'textbox';
    case 'input':
      return INPUT_ROLES[(element as HTMLInputElement).type] ?? 'textbox';
    default:
      return (element as Partial<HTMLElement>).isContentEditable === true ? 'textbox' : null;
  }
}

/** Never what somebody has entered. Spaces are collapsed. */
export function accessibleName(element: Element, maxChars: number): string {
  for (const source of [labeledBy, ariaLabel, own, title]) {
    const name = tidy(source(element, maxChars), maxChars);
    if (name !== '') return name;
  }
  return '';
}

/** The visible text of an element, with the alternative texts of its images. */
export function textOf(root: Node, maxChars: number): string {
  let text = '';
  let left = NODES_MAX;
  const visit = (node: Node) => {
    if (left-- <= 0 || text.length > maxChars * 2) return;
    if (node.nodeType === Node.TEXT_NODE) text += (node.nodeValue ?? '').slice(0, maxChars * 4);
    if (!(node instanceof Element) || /^(script|style|template|noscript|select|textarea)$/.test(node.localName)) return;
    if (node.getAttribute('aria-hidden') === 'true' || (node !== root && !isRendered(node))) return;
    const named = ariaLabel(node) || (node.localName === 'img' ? attribute(node, 'alt') : '');
    if (node !== root && named !== '') text += ` ${named} `;
    else for (const child of flatTreeChildren(node)) visit(child);
    if (!INLINE.test(node.localName)) text += ' ';
  };
  visit(root);
  return tidy(text, maxChars);
}

function labeledBy(element: Element, maxChars: number): string {
  const scope = element.getRootNode();
  if (!(scope instanceof Document || scope instanceof ShadowRoot)) return '';
  const { prototype } = scope instanceof Document ? Document : DocumentFragment;
  const ids = attribute(element, 'aria-labelledby').split(/\s+/, 5);
  const labels = ids.map((id) => (id === '' ? null : prototype.getElementById.call(scope, id)));
  return labels.map((label) => (label === null ? '' : ariaLabel(label) || textOf(label, maxChars))).join(' ');
}

function ariaLabel(element: Element): string {
  return attribute(element, 'aria-label');
}

function own(element: Element, maxChars: number): string {
  if (!/^(input|select|textarea)$/.test(element.localName)) return textOf(element, maxChars);
  const { type, labels } = element as HTMLInputElement;
  const label = labels?.[0] === undefined ? '' : textOf(labels[0], maxChars);
  if (label !== '') return label;
  if (type === 'image') return attribute(element, 'alt');
  if (/^(button|submit|reset)$/.test(type)) return attribute(element, 'value') || (type === 'button' ? '' : type);
  return attribute(element, 'placeholder');
}

function title(element: Element): string {
  return attribute(element, 'title') || attribute(element, 'name');
}

function attribute(element: Element, name: string): string {
  return (element.getAttribute(name) ?? '').slice(0, 1_000).trim();
}

export function tidy(text: string, maxChars: number): string {
  // Not inside a surrogate pair.
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxChars)
    .replace(/[\ud800-\udbff]$/, '')
    .trim();
}
