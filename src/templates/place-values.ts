/**
 * Puts values into a document, each escaped for the place where it stands. The document is parsed as browsers parse it while the values are
 * still marks, so that no value can change its place, or that of another one.
 */
import { type DefaultTreeAdapterMap, parse, serialize } from 'parse5';
import { placeInCss } from './css-values.js';
import { Unplaceable } from './unplaceable.js';
import { placeInUrl } from './url-values.js';
import { type MarkedValues, stringOf } from './values.js';

type Node = DefaultTreeAdapterMap['node'];
type Element = DefaultTreeAdapterMap['element'];

/** Attributes that hold an address. */
const URLS = new Set(
  'action background cite data formaction href imagesrcset longdesc manifest ping poster src srcset xlink:href'.split(
    ' ',
  ),
);
const SEVERAL_URLS = new Set(['srcset', 'imagesrcset', 'ping']);
/** Elements that run or load what they name: their addresses must begin with a text of the template. */
const LOADERS = new Set('base embed frame iframe link object portal script'.split(' '));
/** Elements whose attributes become other elements' attributes. */
const ANIMATIONS = new Set('animate animatemotion animatetransform set'.split(' '));
/** Elements whose text browsers do not unescape. */
const RAW = new Set('iframe noembed noframes noscript plaintext xmp'.split(' '));
const JSON_TYPE = /^application\/(?:ld\+)?json$/i;

/** @throws Unplaceable; TooLarge */
export function placeValues(html: string, values: MarkedValues): string {
  const document = parse(html);
  for (const node of nodesOf(document)) placeIn(node, values);
  return serialize(document);
}

/** All nodes of a document, with those in its templates, however many siblings there are. */
export function* nodesOf(document: Node): Generator<Node> {
  const nodes = [document];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    yield node;
    if ('content' in node) nodes.push(node.content);
    if ('childNodes' in node) for (const child of node.childNodes) nodes.push(child);
  }
}

function placeIn(node: Node, values: MarkedValues): void {
  if ('tagName' in node) placeInElement(node, values);
  else if (node.nodeName === '#text') {
    const text = node as DefaultTreeAdapterMap['textNode'];
    if (values.isIn(text.value)) text.value = textOf(text, values);
  } else if (node.nodeName === '#comment') {
    const comment = node as DefaultTreeAdapterMap['commentNode'];
    if (values.isIn(comment.data)) comment.data = '';
  } else if (node.nodeName === '#documentType' && values.isIn((node as DefaultTreeAdapterMap['documentType']).name))
    throw new Unplaceable('the document type');
}

function textOf({ value, parentNode }: DefaultTreeAdapterMap['textNode'], values: MarkedValues): string {
  const parent = parentNode !== null && 'tagName' in parentNode ? parentNode : null;
  const name = parent?.tagName.toLowerCase() ?? '';
  if (name === 'style') return placeInCss(values.partsOf(value));
  if (name === 'script') {
    if (!JSON_TYPE.test(attributeOf(parent, 'type')))
      throw new Unplaceable('a script', 'put it into a `data-` attribute, or a script with the type application/json');
    return values
      .partsOf(value)
      .map((part) => ('text' in part ? part.text : jsonOf(part.value)))
      .join('');
  }
  if (RAW.has(name)) throw new Unplaceable(`the text of <${name}>`);
  return values.plain(value);
}

function placeInElement(element: Element, values: MarkedValues): void {
  const name = element.tagName.toLowerCase();
  if (values.isIn(name)) throw new Unplaceable('the name of an element');
  for (const attribute of element.attrs) {
    if (values.isIn(attribute.name)) throw new Unplaceable(`the name of an attribute of <${name}>`);
    if (values.isIn(attribute.value)) attribute.value = attributeValue(element, attribute, values);
  }
}

function attributeValue(
  element: Element,
  { name: localName, prefix, value }: Element['attrs'][number],
  values: MarkedValues,
): string {
  const tag = element.tagName.toLowerCase();
  const name = (prefix ? `${prefix}:${localName}` : localName).toLowerCase();
  const place = `the attribute \`${name}\` of <${tag}>`;
  const parts = values.partsOf(value);
  if (name === 'style') return placeInCss(parts);
  if (URLS.has(name) && !ANIMATIONS.has(tag))
    return placeInUrl(parts, { place, isLoader: LOADERS.has(tag), isSeveral: SEVERAL_URLS.has(name) });
  const isRefused =
    name.startsWith('on') ||
    name === 'srcdoc' ||
    name === 'http-equiv' ||
    ANIMATIONS.has(tag) ||
    (LOADERS.has(tag) && !name.startsWith('data-')) ||
    (tag === 'meta' && attributeOf(element, 'http-equiv') !== '');
  if (isRefused) throw new Unplaceable(place);
  return values.plain(value);
}

function attributeOf(element: Element | null, name: string): string {
  return element?.attrs.find((attribute) => attribute.name === name)?.value.trim() ?? '';
}

/** JSON without characters that could end the script. */
function jsonOf(value: unknown): string {
  const json = JSON.stringify(value ?? null) ?? stringOf(value);
  return json.replaceAll(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
