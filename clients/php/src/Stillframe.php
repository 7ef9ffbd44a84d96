<?php

declare(strict_types=1);

namespace Stillframe;

/**
 * A client of one stillframe server. Calls throw a StillframeException.
 *
 * A request is an array with the fields of the API, and an answer is the API's `data`.
 *
 * @phpstan-type Request array{url?: string, html?: string, template?: string, data?: array<string, mixed>, format?: string, full_page?: bool,
 *   viewport?: array{width?: int, height?: int, deviceScaleFactor?: float}, ...}
 * @phpstan-type Picture array{job_id: string, cdn_url: string, format: string, width: int, height: int, bytes: int, ...}
 */
final class Stillframe
{
    /** Fields that the server refuses in links. */
    private const NO_LINK_FIELDS = ['proxy', 'custom_js', 'headers', 'sync', 'webhook', 'html', 'base_url', 'cookies', 'storage_state', 'selector_function',
        'annotate', 'extract', 'save_html', 'upload', 'steps', 'wait_for_function', 'http_credentials', 'captures', 'viewports', 'color_schemes'];

    private Transport $transport;

    /**
     * @param string $baseUrl address of the server; the API key is sent nowhere else
     * @param float $timeout seconds that a call may take, with its retries and its waiting
     * @param int $maxRetries how often a request is repeated after a failure that may pass
     * @param float $firstPause seconds before the first repetition
     */
    public function __construct(string $baseUrl, #[\SensitiveParameter] string $apiKey, private readonly float $timeout = 180.0, int $maxRetries = 4, float $firstPause = 0.5)
    {
        $url = parse_url($baseUrl) ?: [];
        if (!in_array($url['scheme'] ?? '', ['http', 'https'], true) || ($url['host'] ?? '') === '' || isset($url['user']) || strpbrk($baseUrl, '?# ') !== false) {
            throw Transport::invalid('`baseUrl` must be the http or https address of the server, such as https://shots.example.com.');
        }
        self::checkedText($apiKey, 'apiKey');
        if (!($timeout > 0 && $timeout < 2_147_483) || $maxRetries < 0) {
            throw Transport::invalid('`timeout` must be more than 0 and less than 25 days, and `maxRetries` 0 or more.');
        }
        $this->transport = new Transport(rtrim($baseUrl, '/'), $apiKey, $maxRetries, $firstPause);
    }

    /**
     * Captures a page and waits for the picture. After a CallTimeout, `wait($error->jobId)` resumes the call.
     * @param Request $request
     * @param array<string, string>|null $files contents of a document's files by relative path, one of them `index.html`, in place of `url` and `html`
     * @return Picture
     */
    public function capture(array $request, ?array $files = null, ?string $idempotencyKey = null, ?float $timeout = null): array
    {
        $end = $this->end($timeout);
        return $this->identified($idempotencyKey, function (string $key) use ($request, $files, $end): array {
            [$data, $headers] = $this->submission($request, $files, $key, '', $end);
            if (!isset($data['poll_url'], $data['job_id'])) {
                return self::picture($data, $headers['x-job-id'] ?? null);
            }
            return $this->waitUntil($data['job_id'], $end, Transport::retryAfter($headers) ?? 2 * $this->transport->firstPause);
        });
    }

    /**
     * Submits a capture without waiting for it. Use `wait` or a webhook to get the result.
     * @param Request $request
     * @param array<string, string>|null $files as those of `capture`
     * @return string the id of the job
     */
    public function submit(array $request, ?array $files = null, ?string $idempotencyKey = null, ?float $timeout = null): string
    {
        return $this->identified($idempotencyKey, function (string $key) use ($request, $files, $timeout): string {
            [$data, $headers] = $this->submission($request, $files, $key, '?mode=async', $this->end($timeout));
            return $data['job_id'] ?? self::picture($data, $headers['x-job-id'] ?? null)['job_id'];
        });
    }

    /**
     * Waits for the picture of a job. Throws the error of the capture, if it failed.
     * @return Picture
     */
    public function wait(string $jobId, ?float $timeout = null): array
    {
        return $this->waitUntil($jobId, $this->end($timeout), 0);
    }

    /** Looks up a job, whatever its state. */
    public function job(string $id): array
    {
        return $this->call('GET', self::path('/v1/jobs', $id));
    }

    /**
     * Cancels a job that has not ended, which then costs nothing, or deletes the pictures of one that has.
     * @return array{id: string, removed: true, canceled: bool}
     */
    public function removeJob(string $id): array
    {
        return $this->call('DELETE', self::path('/v1/jobs', $id));
    }

    /**
     * Merges, splits and changes PDFs: those of `uploads`, of jobs, or at addresses of the server. Nothing is stored.
     * @param array<string, mixed> $request
     * @param array<string, string> $uploads contents by name
     * @return array{content: string, type: string, pages: int|null} a PDF, or a zip file with several, which has no `pages`
     */
    public function pdf(array $request, array $uploads = []): array
    {
        [$body, $headers] = self::form($request, $uploads);
        [$status, $headers, $content] = $this->transport->send('POST', '/v1/pdf', $this->end(null), $headers, $body, limit: null);
        $type = $headers['content-type'] ?? '';
        if (!in_array($type, ['application/pdf', 'application/zip'], true)) {
            throw Transport::unexpected($status, $content, $headers);
        }
        return ['content' => $content, 'type' => $type, 'pages' => isset($headers['x-pages']) ? (int) $headers['x-pages'] : null];
    }

    /**
     * Downloads the file at the `cdn_url` of a picture, without the API key, or at a path of the API, such as /v1/batches/ID/pictures.zip, with
     * it. A download that breaks off is repeated.
     */
    public function download(string $address): string
    {
        return $this->transport->send('GET', $address, $this->end(null), limit: null)[2];
    }

    /** Downloads as `download` does, to a file that is replaced only once the download is whole. */
    public function downloadTo(string $address, string $file): void
    {
        $this->transport->send('GET', $address, $this->end(null), file: $file);
    }

    /**
     * Calls any other endpoint, such as GET /v1/usage, and returns the `data` of its answer. After a lost answer, POST and PATCH requests are
     * repeated only to /v1/compare and /v1/batches, where an idempotency key makes this safe.
     * @param array<string, mixed>|null $body
     * @return array<string, mixed>
     */
    public function call(string $method, string $path, ?array $body = null): array
    {
        $headers = $method === 'POST' && in_array($path, ['/v1/compare', '/v1/batches'], true) ? ['Idempotency-Key' => bin2hex(random_bytes(16))] : [];
        $once = in_array($method, ['POST', 'PATCH'], true) && $headers === [];
        return $this->read($method, $path, $this->end(null), $headers, $body === null ? null : self::json($body), $once)[0];
    }

    /** Escapes an id, and appends it to a path of the API. */
    public static function path(string $of, string $id): string
    {
        return $id === '' ? throw Transport::invalid('An id must not be empty.') : "$of/" . rawurlencode($id);
    }

    /**
     * Makes an address that shows the picture without an API key, for `<img src>` and Open Graph tags. Makes no request.
     * @param Request $request
     * @param string $keyId id of the API key that the captures are charged to, `key_…`
     * @param string $signingSecret what `stillframe keys signing-secret` prints
     * @param int $expiresIn seconds from now
     */
    public function signLink(array $request, string $keyId, #[\SensitiveParameter] string $signingSecret, int $expiresIn): string
    {
        foreach (self::NO_LINK_FIELDS as $name) {
            if (isset($request[$name])) {
                throw Transport::invalid("A link must not have `$name`.");
            }
        }
        if ($keyId === '' || $signingSecret === '' || $expiresIn <= 0) {
            throw Transport::invalid('A link needs the id of a key, a signing secret, and a number of seconds that is more than 0.');
        }
        $query = self::canonicalQuery([...self::pairs($request, ''), ['key', $keyId], ['expires', (string) (time() + $expiresIn)]]);
        return "{$this->transport->baseUrl}/v1/render?$query&signature=" . self::sign($signingSecret, $query);
    }

    /**
     * Verifies the signature of a webhook request in constant time, and returns its event. A request can be repeated within the tolerance: recognize it by its `delivery_id` and `delivery_generation`.
     * @param string $body exactly as received: file_get_contents('php://input')
     * @param string $signature the header X-Service-Signature: $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? ''
     * @param string|list<string> $secret the `webhook.secret` of the submission; several while you change it
     * @return array<string, mixed>
     */
    public static function verifyWebhook(string $body, string $signature, #[\SensitiveParameter] string|array $secret, int $toleranceSeconds = 300, ?int $now = null): array
    {
        if (preg_match('/^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/D', $signature, $match) !== 1) {
            throw new InvalidSignature('invalid_signature', 'The header X-Service-Signature is missing or malformed.');
        }
        $genuine = false;
        // All secrets are tried, so that the time does not tell which one matches.
        foreach ((array) $secret as $one) {
            $genuine = ($one !== '' && hash_equals(self::sign($one, "$match[1].$body"), $match[2])) || $genuine;
        }
        if (!$genuine) {
            throw new InvalidSignature('invalid_signature', 'The signature does not match the body.');
        }
        if (abs(($now ?? time()) - (int) $match[1]) > $toleranceSeconds) {
            throw new InvalidSignature('invalid_signature', 'The timestamp is too far from the present.');
        }
        $event = json_decode($body, true);
        return is_array($event) ? $event : throw new UnexpectedResponse('unexpected_response', 'The body is not that of an event.');
    }

    /**
     * Returns the signed text: sorted by name (repeated names keep their order), in the encoding of RFC 3986.
     * @param list<array{string, string}> $pairs
     */
    public static function canonicalQuery(array $pairs): string
    {
        $encoded = array_map(static fn (array $pair): array => array_map('rawurlencode', $pair), $pairs);
        usort($encoded, static fn (array $one, array $other): int => strcmp($one[0], $other[0]));
        return implode('&', array_map(static fn (array $pair): string => "$pair[0]=$pair[1]", $encoded));
    }

    /** Returns the HMAC-SHA256 in hex. */
    public static function sign(string $secret, string $content): string
    {
        return hash_hmac('sha256', $content, $secret);
    }

    /**
     * Flattens fields to pairs, such as `viewport.width=800`, with repeated names for lists.
     * @param array<string, mixed> $fields
     * @return list<array{string, string}>
     */
    private static function pairs(array $fields, string $prefix): array
    {
        $pairs = [];
        foreach ($fields as $name => $value) {
            if (is_array($value) && !array_is_list($value)) {
                array_push($pairs, ...self::pairs($value, "$prefix$name."));
            } elseif ($value !== null) {
                foreach (is_array($value) ? $value : [$value] as $item) {
                    if (!is_scalar($item)) {
                        throw Transport::invalid("`$prefix$name` is a list of objects, which a link cannot have.");
                    }
                    $pairs[] = ["$prefix$name", is_string($item) ? $item : (string) json_encode($item)];
                }
            }
        }
        return $pairs;
    }

    /**
     * @param array<string, mixed> $request
     * @param array<string, string>|null $files
     * @return array{array<string, mixed>, array<string, string>} data and headers
     */
    private function submission(array $request, ?array $files, string $key, string $query, float $end): array
    {
        [$body, $headers] = $files === null ? [self::json($request), []] : self::form($request, $files);
        return $this->read('POST', "/v1/screenshot$query", $end, $headers + ['Idempotency-Key' => self::checkedText($key, 'idempotencyKey')], $body);
    }

    /** @return array<string, mixed> */
    private function waitUntil(string $jobId, float $end, float $after): array
    {
        $pause = 2 * $this->transport->firstPause;
        try {
            for (Transport::pause($after, $end); ; $pause = min(5.0, $pause * 1.3)) {
                [$job, $headers] = $this->read('GET', self::path('/v1/jobs', $jobId), $end);
                $result = $job['result'] ?? null;
                if (is_array($result['error'] ?? null)) {
                    throw StillframeException::reported($result['error'], null, null, $jobId);
                }
                if ($result !== null) {
                    return self::picture($result['data'] ?? [], $jobId);
                }
                $asked = Transport::retryAfter($headers);
                Transport::pause($asked === null ? $pause : max($asked, 2 * $this->transport->firstPause), $end);
            }
        } catch (StillframeException $error) {
            $error->jobId ??= $jobId;
            throw $error;
        }
    }

    /**
     * Adds to an error the key of the submission, with which the caller can repeat it.
     * @template T
     * @param callable(string): T $work
     * @return T
     */
    private function identified(?string $key, callable $work): mixed
    {
        $key ??= bin2hex(random_bytes(16));
        try {
            return $work($key);
        } catch (StillframeException $error) {
            $error->idempotencyKey = $key;
            throw $error;
        }
    }

    /**
     * @param array<string, string> $headers
     * @return array{array<string, mixed>, array<string, string>} data and headers
     */
    private function read(string $method, string $to, float $end, array $headers = [], ?string $body = null, bool $once = false): array
    {
        [$status, $received, $content] = $this->transport->send($method, $to, $end, $headers, $body, $once);
        $data = json_decode($content, true)['data'] ?? null;
        if (!is_array($data) || ($data !== [] && array_is_list($data))) {
            throw Transport::unexpected($status, $content, $received);
        }
        return [$data, $received];
    }

    /**
     * @param array<string, mixed> $data
     * @return Picture
     */
    private static function picture(array $data, ?string $jobId): array
    {
        if (!is_string($data['cdn_url'] ?? null) || $jobId === null) {
            throw new UnexpectedResponse('unexpected_response', 'The capture has no `cdn_url`, or no job.');
        }
        return [...$data, 'job_id' => $jobId];
    }

    private function end(?float $timeout): float { return Transport::now() + ($timeout ?? $this->timeout); }

    private static function checkedText(string $text, string $name): string
    {
        return preg_match('/^[\x21-\x7e]+$/D', $text) === 1 ? $text : throw Transport::invalid("`$name` must be printable ASCII characters without spaces.");
    }

    /** @param array<string, mixed> $request */
    private static function json(array $request): string
    {
        try {
            return json_encode($request === [] ? new \stdClass() : $request, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION);
        } catch (\JsonException $error) {
            throw Transport::invalid("The request cannot be written as JSON: {$error->getMessage()}.");
        }
    }

    /**
     * @param array<string, mixed> $request
     * @param array<string, string> $files
     * @return array{string, array<string, string>} body and headers of a form
     */
    private static function form(array $request, array $files): array
    {
        $boundary = bin2hex(random_bytes(16));
        $body = "--$boundary\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" . self::json($request) . "\r\n";
        foreach ($files as $name => $content) {
            $quoted = strtr((string) $name, ['"' => '%22', "\r" => '%0D', "\n" => '%0A']);
            $body .= "--$boundary\r\nContent-Disposition: form-data; name=\"files\"; filename=\"$quoted\"\r\n\r\n$content\r\n";
        }
        return ["$body--$boundary--\r\n", ['Content-Type' => "multipart/form-data; boundary=$boundary"]];
    }
}
