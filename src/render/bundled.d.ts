/** An in-page program, bundled to one script by scripts/built-modules.mjs. */
declare module '*?bundled' {
  /** Sets a global variable `stillframe` to the program's exports. */
  export const source: string;
}
