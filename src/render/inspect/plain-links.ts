export const HEADINGS = 'h1,h2,h3,h4,h5,h6';

/** A link around a heading and more becomes the link of its heading: Markdown has no links around blocks. */
export function plainLinks(content: Element): void {
  for (const around of content.querySelectorAll('a[href]')) {
    const heading = [...around.querySelectorAll(HEADINGS)].find(({ textContent }) => textContent?.trim());
    if (heading === undefined) continue;
    const link = around.cloneNode(false) as Element;
    link.append(...heading.childNodes);
    heading.append(link);
    around.replaceWith(...around.childNodes);
  }
}
