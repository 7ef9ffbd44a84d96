/** An in-page program, built to one script by whatever builds or runs the sources (scripts/in-page-bundle.mjs). */
declare module '*?bundled' {
  /** Sets a global variable `stillframe` to the program's exports. */
  export const source: string;
}
