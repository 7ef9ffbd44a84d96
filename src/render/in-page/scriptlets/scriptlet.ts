/** One call of a scriptlet by a filter list: its name, as in `SCRIPTLETS`, and its arguments, which are data. */
export type Scriptlet = [name: string, ...given: string[]];
