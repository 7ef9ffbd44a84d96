<?php

declare(strict_types=1);

namespace Stillframe;

/**
 * HTTP requests with retries. Knows nothing of captures. The API key goes to the server only: API calls follow no redirect, and downloads carry no key.
 * @internal
 */
final class Transport
{
    private const RETRY_AFTER_MAX = 86_400.0; // in seconds; a longer one is assumed to be a mistake
    private const ANSWER_LIMIT = 64 * 1024 * 1024; // a page of 100 jobs with inspections has at most about 30 MB
    private const ERROR_LIMIT = 64 * 1024;
    private const ATTEMPT = 60.0; // seconds until an answer begins; a synchronous capture is answered within 25 s
    private const PASSING = [408, 425, 429, 500, 502, 503, 504]; // statuses of proxies that another attempt may not get

    private \CurlHandle $curl;

    public function __construct(public readonly string $baseUrl, private readonly string $apiKey, private readonly int $maxRetries, public readonly float $firstPause)
    {
        // One handle for all requests, so that connections are kept.
        $this->curl = curl_init() ?: throw new \RuntimeException('cURL cannot be used.');
    }

    /**
     * Sends a request until it succeeds, fails for good, or has been tried `maxRetries` + 1 times.
     * @param string $to path below the address of the server; or, for downloads, an address
     * @param float $end of the call, in the time of `now`
     * @param bool $once whether it must not be sent again after a failure that leaves open whether it arrived
     * @param string|null $file where a download is stored, once it is whole
     * @param int|null $alsoReads a status other than 2xx that is no failure
     * @return array{int, array<string, string>, string} status, headers and body
     */
    public function send(string $method, string $to, float $end, array $headers = [], ?string $body = null, bool $once = false, ?string $file = null, ?int $limit = self::ANSWER_LIMIT, ?int $alsoReads = null): array
    {
        for ($retries = 0; ; $retries++) {
            try {
                return $this->attempt($method, $to, $end, $headers, $body, $file, $limit, $alsoReads);
            } catch (CallTimeout $error) {
                throw $error;
            } catch (StillframeException $error) {
                $longest = min(8.0, $this->firstPause * 2 ** min($retries, 10));
                $wait = $error->retryAfter ?? $longest * random_int(50, 100) / 100;
                // A failure with a job is that of the capture, and the same idempotency key does not start another one.
                $retry = $error->retriable && $error->jobId === null && (!$once || in_array($error->status, [429, 503], true));
                // If the retry came too late, this failure would be more useful than a timeout.
                if (!$retry || $retries >= $this->maxRetries || self::now() + $wait >= $end) {
                    throw $error;
                }
                self::pause($wait, $end);
            }
        }
    }

    private function attempt(string $method, string $to, float $end, array $headers, ?string $body, ?string $file, ?int $limit, ?int $alsoReads): array
    {
        $isCall = str_starts_with($to, '/');
        if ($isCall && preg_match('~^[^?]*/\.{0,2}(?:[/?]|$)~D', $to) === 1) {
            throw self::invalid('An id must not be empty, `.` or `..`, since the request would go to another path.');
        }
        if (!$isCall && preg_match('~^https?://[^/?#]~i', $to) !== 1) {
            throw self::invalid('The address of a download must be an http or https URL.');
        } elseif ($isCall) {
            $headers += ['Accept' => 'application/json', 'Authorization' => "Bearer {$this->apiKey}"];
            $headers += $body === null ? [] : ['Content-Type' => 'application/json'];
        }
        [$status, $received, $content] = [0, [], ''];
        $part = $file === null ? null : dirname($file) . '/.stillframe-' . bin2hex(random_bytes(8));
        $stored = null;
        $isRead = static fn (int $status): bool => intdiv($status, 100) === 2 || $status === $alsoReads;
        $began = self::now();
        curl_reset($this->curl);
        curl_setopt_array($this->curl, [
            CURLOPT_URL => $isCall ? $this->baseUrl . $to : $to,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => [...array_map(static fn ($name, $value) => "$name: $value", array_keys($headers), $headers), 'Expect:'],
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_REDIR_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_FOLLOWLOCATION => !$isCall,
            CURLOPT_MAXREDIRS => 20,
            // Rounded up, so that a request never ends before the call, which would be a failed connection.
            CURLOPT_TIMEOUT_MS => max(1, 1 + (int) (($end - $began) * 1000)),
            CURLOPT_NOPROGRESS => false,
            CURLOPT_XFERINFOFUNCTION => static fn (): int => (int) ($received === [] && self::now() - $began > self::ATTEMPT),
            CURLOPT_HEADERFUNCTION => static function ($_, string $line) use (&$status, &$received): int {
                if (preg_match('~^HTTP/[0-9.]+ ([0-9]{3})~', $line, $match) === 1) {
                    [$status, $received] = [(int) $match[1], []];
                } elseif (str_contains($line, ':')) {
                    [$name, $value] = explode(':', $line, 2);
                    $received[strtolower($name)] = trim($value);
                }
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => static function ($_, string $chunk) use (&$status, &$content, &$stored, $isRead, $part, $limit): int {
                if ($part !== null && $isRead($status)) {
                    $stored ??= @fopen($part, 'xb') ?: throw new \RuntimeException("$part cannot be written.");
                    return (int) fwrite($stored, $chunk);
                }
                $content .= $chunk;
                $most = $isRead($status) ? $limit : self::ERROR_LIMIT;
                // Any other number ends the request.
                return $most !== null && strlen($content) > $most ? 0 : strlen($chunk);
            },
        ]);
        if ($body !== null) {
            curl_setopt($this->curl, CURLOPT_POSTFIELDS, $body);
        }
        try {
            curl_exec($this->curl);
            // An error that is too long is not read to its end.
            if (curl_errno($this->curl) !== 0 && !(curl_errno($this->curl) === CURLE_WRITE_ERROR && $stored === null)) {
                throw self::now() >= $end ? self::timeout() : new ConnectionFailed('connection_failed', 'The connection failed: ' . curl_error($this->curl), true);
            }
            if (!$isRead($status)) {
                throw self::failure($status, $received, $content);
            }
            if ($part !== null && $file !== null) {
                $stored ??= @fopen($part, 'xb');
                if ($stored === false || !fclose($stored) || !@rename($part, $file)) {
                    throw new \RuntimeException("$file cannot be written.");
                }
            }
            return [$status, $received, $content];
        } finally {
            // Does nothing once the file has its name.
            if ($part !== null && is_file($part)) {
                unlink($part);
            }
        }
    }

    private static function failure(int $status, array $headers, string $content): StillframeException
    {
        if ($status >= 300 && $status < 400) {
            $to = substr($headers['location'] ?? '', 0, 200);
            return new UnexpectedResponse('unexpected_response', "The server redirects to $to. The API key is sent only to its own address.", false, $status);
        }
        $error = json_decode($content, true)['error'] ?? null;
        if (!is_array($error) || !is_string($error['code'] ?? null) || !is_string($error['message'] ?? null)) {
            return self::unexpected($status, $content, $headers);
        }
        return StillframeException::reported($error, $status, self::retryAfter($headers));
    }

    public static function unexpected(int $status, string $content, array $headers): UnexpectedResponse
    {
        $excerpt = trim((string) preg_replace('/\s+/', ' ', (string) iconv('UTF-8', 'UTF-8//IGNORE', substr($content, 0, 200))));
        $message = "The answer with status $status is not one of stillframe: $excerpt";
        return new UnexpectedResponse('unexpected_response', $message, in_array($status, self::PASSING, true), $status, retryAfter: self::retryAfter($headers));
    }

    public static function retryAfter(array $headers): ?float
    {
        $text = $headers['retry-after'] ?? '';
        if (preg_match('/^[0-9]{1,9}$/D', $text) === 1) {
            return min((float) $text, self::RETRY_AFTER_MAX);
        }
        $at = \DateTimeImmutable::createFromFormat(\DateTimeInterface::RFC7231, $text);
        return $at === false ? null : min(max(0.0, (float) ($at->getTimestamp() - time())), self::RETRY_AFTER_MAX);
    }

    /** Waits, but not longer than the call may take. */
    public static function pause(float $seconds, float $end): void
    {
        usleep((int) (max(0.0, min($seconds, $end - self::now())) * 1e6));
        if (self::now() >= $end) {
            throw self::timeout();
        }
    }

    /** Returns seconds of a clock that nobody sets. */
    public static function now(): float { return hrtime(true) / 1e9; }
    public static function invalid(string $message): InvalidRequest { return new InvalidRequest('invalid_request', $message); }
    private static function timeout(): CallTimeout { return new CallTimeout('timeout', 'The call has not ended in time.', true); }
}
