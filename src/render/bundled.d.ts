/** An in-page program, bundled to one script by scripts/built-modules.mjs. */
declare module '*?bundled' {
  /** The script, which sets a global variable `stillframe` to the program's exports. */
  export const source: string;
}
