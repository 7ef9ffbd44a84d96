/** Regions whose paper is Letter. */
const LETTER_REGIONS = new Set(['US', 'CA']);

/**
 * A request of somebody who wants a document: a PDF that is not of the full page is printed on paper, and the paper is that of the locale
 * unless the request names one. The API itself prints as the request says.
 *
 * @param fallbackLocale of the person, BCP 47, for a request without `locale` and `region`
 */
export function printedOnPaper(request: Record<string, unknown>, fallbackLocale: string): Record<string, unknown> {
  const { format, full_page: fullPage, pdf = {}, locale, region } = request;
  if (format !== 'pdf' || (fullPage === true && request.pdf === undefined)) return request;
  if (pdf === null || typeof pdf !== 'object' || Array.isArray(pdf) || 'paper' in pdf) return request;
  const asked =
    typeof locale === 'string' ? regionOf(locale) : typeof region === 'string' ? region.toUpperCase() : regionOf(fallbackLocale);
  return { ...request, pdf: { ...pdf, paper: LETTER_REGIONS.has(asked) ? 'letter' : 'a4' } };
}

function regionOf(locale: string): string {
  try {
    return new Intl.Locale(locale).region ?? '';
  } catch {
    return '';
  }
}
