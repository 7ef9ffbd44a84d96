/**
 * Whether a URL matches a pattern in which `*` is any text. Takes linear time, since both may be hostile.
 * @param options.anchored whether the pattern must match the whole URL; if not, a part of it suffices, as in Chromium's
 * `Network.setBlockedURLs`
 */
export function matchesPattern(url: string, pattern: string, { anchored }: { anchored: boolean }): boolean {
  const parts = pattern.split('*');
  let at = 0;
  for (const [index, part] of parts.entries()) {
    const isFirst = anchored && index === 0;
    const isLast = anchored && index === parts.length - 1;
    const found = isLast ? url.length - part.length : url.indexOf(part, at);
    if (found < at || (isFirst && found !== 0) || (isLast && !url.endsWith(part))) return false;
    at = found + part.length;
  }
  return true;
}
