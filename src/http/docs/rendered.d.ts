/** The pages of docs/ that its contents.json lists by group, rendered by scripts/render-docs.mjs when the program is built. */
declare module '*?rendered' {
  export const groups: readonly {
    title: string;
    pages: readonly {
      /** Its path below /docs/; empty for the page at /docs. */
      name: string;
      title: string;
      /** HTML of its first sentence. */
      lead: string;
      html: string;
      headings: readonly { id: string; html: string }[];
    }[];
  }[];
}
