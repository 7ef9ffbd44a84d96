import { type DefaultTreeAdapterMap, parse } from 'parse5';
import { nodesOf } from './place-values.js';

type Node = DefaultTreeAdapterMap['node'];

const ADDRESSES: Readonly<Record<string, string>> = { img: 'src', script: 'src', link: 'href' };
const LOADED_LINKS = /\b(?:stylesheet|preload|modulepreload)\b/i;
const ORIGIN = 'http://template.invalid';

/** Lists the files that the page of a template names in `<link>`, `<script>` and `<img>`, and that are not there. Values are not looked at. */
export function missingFiles(html: string, names: readonly string[]): string[] {
  const known = new Set(names);
  const missing = new Set<string>();
  for (const node of nodesOf(parse(html))) {
    const name = localFileOf(node);
    if (name !== null && !known.has(name)) missing.add(name);
  }
  return [...missing].sort();
}

function localFileOf(node: Node): string | null {
  if (!('tagName' in node)) return null;
  const attribute = (name: string | undefined) => node.attrs.find((one) => one.name === name)?.value.trim() ?? '';
  const address = attribute(ADDRESSES[node.tagName]);
  const isLoaded = node.tagName !== 'link' || LOADED_LINKS.test(attribute('rel'));
  if (address === '' || address.includes('{') || !isLoaded || !URL.canParse(address, ORIGIN)) return null;
  const { origin, pathname } = new URL(address, ORIGIN);
  try {
    return origin === ORIGIN && pathname !== '/' ? decodeURIComponent(pathname.slice(1)) : null;
  } catch {
    return null;
  }
}
