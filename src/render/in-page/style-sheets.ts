/** @returns whether to visit the rules in it */
export type Visit = (part: CSSStyleSheet | CSSRule) => boolean;

/** Visits the readable style sheets of a tree, those that they import, and their rules. */
export function visitSheets(tree: DocumentOrShadowRoot, visit: Visit): void {
  for (const sheet of [...tree.styleSheets, ...tree.adoptedStyleSheets]) visitSheet(sheet, visit);
}

/** Visits one style sheet in the same way. */
export function visitSheet(sheet: CSSStyleSheet, visit: Visit): void {
  if (visit(sheet) && isReadable(sheet)) visitRules(sheet.cssRules, visit);
}

function visitRules(rules: CSSRuleList, visit: Visit): void {
  for (const rule of rules) {
    if (!visit(rule)) continue;
    if (rule instanceof CSSImportRule && rule.styleSheet !== null) visitSheet(rule.styleSheet, visit);
    if ('cssRules' in rule) visitRules(rule.cssRules as CSSRuleList, visit);
  }
}

function isReadable(sheet: CSSStyleSheet): boolean {
  try {
    return sheet.cssRules !== null;
  } catch {
    // A style sheet of another origin cannot be read.
    return false;
  }
}
