/** The languages a browser of this locale asks for, best first: the locale, then its bare language. Chromium adds the q-values. */
export function languagesOf(locale: string): string {
  const language = locale.split('-')[0] ?? locale;
  return language === locale ? locale : `${locale},${language}`;
}
