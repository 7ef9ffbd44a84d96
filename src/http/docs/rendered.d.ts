/** The pages of docs/ that its contents.json lists, rendered by scripts/render-docs.mjs when the program is built. */
declare module '*?rendered' {
  export const pages: readonly { name: string; title: string; html: string }[];
}
