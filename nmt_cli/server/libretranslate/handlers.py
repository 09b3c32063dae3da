"""The interface of LibreTranslate, so that its clients can use a model of nmt.

Paths, fields and answers are those of its documentation; https://libretranslate.com/docs.
"""

import asyncio
import itertools
import math
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.english_names import english_name
from nmt_cli.data.languages.trigrams import line_sums
from nmt_cli.data.markup.marked_text import raw_text
from nmt_cli.documents.kinds import kind_by_suffix, readable_suffixes
from nmt_cli.server.bodies import Tokens, read_body
from nmt_cli.server.libretranslate.forms import form_fields, read_upload
from nmt_cli.server.libretranslate.translated_files import SECONDS, TranslatedFiles
from nmt_cli.server.refusals import RefusedError, missed_deadline
from nmt_cli.server.service import Service
from nmt_cli.server.strict_json import parse_json
from nmt_cli.server.translate_requests import (
    DocumentText,
    TranslateRequest,
    require_characters,
)
from nmt_cli.translation.calls import chosen_settings
from nmt_cli.translation.result import Translation

AUTO = "auto"
FORMATS = ("text", "html")
# A text that is in the target language already with this certainty, in percent, is left as it is.
CERTAIN = 90


@dataclass(frozen=True)
class _TextRequest:
    """A request for translations; is_list: whether the texts were given as a list."""

    texts: list[str]
    is_list: bool
    source: str
    format: str
    alternatives: int


class LibreTranslate:
    """The handlers of these paths."""

    def __init__(
        self,
        service: Service,
        tokens: Tokens,
        text: TextStatistics | None,
        public_url: str = "",
    ) -> None:
        """text: what is usual in the training text, which tells the two languages apart.

        public_url: the address at which clients reach the server; "": that of each request.
        """
        self._service = service
        self._tokens = tokens
        self._text = text
        self._public_url = public_url
        self._files = TranslatedFiles()
        languages = service.config.languages
        self._languages = languages.src, languages.tgt

    async def translate(self, request: Request) -> Response:
        """Translate a text, or several."""
        self._service.require_room()
        asked = self._text_request(await self._fields(request))
        detected = [self._detected(text) for text in asked.texts] if asked.source == AUTO else []
        in_target = [self._is_in_target(language) for language in detected]
        in_target = in_target or [False] * len(asked.texts)
        texts = [text for text, is_done in zip(asked.texts, in_target, strict=True) if not is_done]
        if asked.format == "html":
            translated = iter(await self._translate_pages(texts, request))
        else:
            translated = iter(await self._translate_plain(texts, asked, request) if texts else [])
        answers = [
            [text] if is_done else next(translated)
            for text, is_done in zip(asked.texts, in_target, strict=True)
        ]
        result: dict[str, Any] = {"translatedText": [answer[0] for answer in answers]}
        if asked.alternatives:
            result["alternatives"] = [answer[1:] for answer in answers]
        if detected:
            result["detectedLanguage"] = detected
        if not asked.is_list:
            result = {name: values[0] for name, values in result.items()}
        return JSONResponse(result)

    async def translate_file(self, request: Request) -> Response:
        """Translate a document; the answer has the address of the translated one."""
        self._service.require_room()
        upload = await read_upload(request, self._service.limits)
        self._require_key(upload.fields, request)
        self._require_languages(upload.fields)
        kind = kind_by_suffix(upload.name)
        if kind is None:
            hint = f"known suffixes: {' '.join(readable_suffixes())}"
            raise RefusedError(400, "files of this kind cannot be translated", hint)
        document = DocumentText(kind, upload.data, field=upload.fields.get("field", ""))
        opened, detected = None, None
        if upload.fields.get("source") == AUTO:
            opened = await self._service.read_document(document)
            detected = self._detected("\n".join(map(raw_text, opened.segments)))
        if detected is not None and self._is_in_target(detected):
            data = upload.data
        else:
            work = self._document_request(document)
            data, _, _ = await self._service.translate_document(work, request, opened)
        name = PurePosixPath(upload.name.replace("\\", "/"))
        key = self._files.add(f"{name.stem}_{self._languages[1]}{name.suffix.lower()}", data)
        base = self._public_url or str(request.base_url).rstrip("/")
        result: dict[str, Any] = {"translatedFileUrl": f"{base}/download_file/{key}"}
        if detected is not None:
            result["detectedLanguage"] = detected
        return JSONResponse(result)

    async def download_file(self, request: Request) -> Response:
        """A translated document, by the name that was given for it."""
        file = self._files.get(request.path_params["name"])
        if file is None:
            raise RefusedError(
                404, "there is no such file, or no longer",
                f"files are kept for {SECONDS / 60:g} minutes; translate the document again",
            )  # fmt: skip
        quoted = urllib.parse.quote(file.name, safe="")
        # A page that somebody uploaded must not run as a page of this server.
        headers = {
            "content-disposition": f"attachment; filename*=UTF-8''{quoted}",
            "x-content-type-options": "nosniff",
        }
        return Response(file.data, media_type="application/octet-stream", headers=headers)

    async def languages(self, request: Request) -> Response:
        """The languages, each with those that it can be translated to."""
        src, tgt = self._languages
        return JSONResponse(
            [
                {"code": src, "name": _language_name(src), "targets": [tgt]},
                {"code": tgt, "name": _language_name(tgt), "targets": []},
            ]
        )

    async def detect(self, request: Request) -> Response:
        """Which of the two languages of the model a text is in."""
        texts = _texts((await self._fields(request)).get("q"))
        require_characters(texts, self._service.limits)
        return JSONResponse([self._detected("\n".join(texts))])

    async def settings(self, request: Request) -> Response:
        """What a page of LibreTranslate asks before it shows itself."""
        src, tgt = ({"code": code, "name": _language_name(code)} for code in self._languages)
        return JSONResponse(
            {
                "apiKeys": self._tokens.are_needed,
                "charLimit": self._service.limits.characters,
                "filesTranslation": True,
                "frontendTimeout": 500,
                "keyRequired": self._tokens.are_needed,
                "language": {"source": src, "target": tgt},
                "suggestions": False,
                "supportedFilesFormat": readable_suffixes(),
            }
        )

    async def suggest(self, request: Request) -> Response:
        """Suggestions are not collected."""
        raise RefusedError(403, "this server takes no suggestions")

    async def health(self, request: Request) -> Response:
        """Whether requests are accepted."""
        if not self._service.is_ready:
            raise RefusedError(503, "not ready")
        return JSONResponse({"status": "ok"})

    async def _fields(self, request: Request) -> Mapping[str, Any]:
        """The fields of a request, as JSON or as a form; raises RefusedError without a token."""
        body = await read_body(request, self._service.limits)
        content_type = request.headers.get("content-type", "")
        kind = content_type.partition(";")[0].strip().lower()
        # curl declares JSON as a form unless it is told otherwise; no form begins with a brace.
        is_json = kind == "application/json" or body.lstrip()[:1] == b"{"
        fields = parse_json(body) if is_json else form_fields(body, content_type)
        self._require_key(fields, request)
        return fields

    def _require_key(self, fields: Mapping[str, Any], request: Request) -> None:
        key = fields.get("api_key", "")
        is_allowed = isinstance(key, str) and self._tokens.allow(key)
        if not is_allowed and not self._tokens.allow_header(request):
            raise RefusedError(403, "the api_key is missing or wrong")

    def _text_request(self, fields: Mapping[str, Any]) -> _TextRequest:
        """The request to translate texts; raises RefusedError for missing or wrong fields."""
        given = fields.get("q")
        texts = _texts(given)
        require_characters(texts, self._service.limits)
        source = self._require_languages(fields)
        chosen = fields.get("format") or "text"
        if chosen not in FORMATS:
            raise RefusedError(400, "format must be text or html")
        return _TextRequest(
            texts, isinstance(given, list), source, chosen, self._alternatives(fields)
        )

    def _require_languages(self, fields: Mapping[str, Any]) -> str:
        """The source language, or AUTO; raises RefusedError for languages of other models."""
        source, target = (self._language(fields, name) for name in ("source", "target"))
        src, tgt = self._languages
        if source not in (AUTO, src):
            raise RefusedError(400, f"{source} cannot be translated from", f"known: {src}")
        if target != tgt:
            raise RefusedError(400, f"{target} cannot be translated to", f"known: {tgt}")
        return source

    def _language(self, fields: Mapping[str, Any], name: str) -> str:
        """A language as the model calls it, where it is one of its languages."""
        value = fields.get(name)
        if not isinstance(value, str) or not value:
            raise RefusedError(400, f"{name} is missing")
        codes = [code for code in self._languages if base_code(code) == base_code(value)]
        return codes[0] if codes else value[:40]

    def _alternatives(self, fields: Mapping[str, Any]) -> int:
        value = fields.get("alternatives") or 0
        if isinstance(value, str) and value.isascii() and value.isdecimal():
            value = int(value[:4])
        most = self._service.limits.beam - 1
        if type(value) is not int or not 0 <= value <= most:
            raise RefusedError(400, f"alternatives must be a number from 0 to {most}")
        return value

    async def _translate_plain(
        self, texts: Sequence[str], asked: _TextRequest, request: Request
    ) -> list[list[str]]:
        """The translation of each text, followed by alternatives, without duplicates.

        The lines of all texts are searched together.
        """
        lines_by_text = [text.split("\n") for text in texts]
        lines = tuple(itertools.chain(*lines_by_text))
        search = self._search_for(asked.alternatives)
        work = TranslateRequest(lines, search, self._service.constraints)
        translations = iter(await self._service.translate(work, request))
        answers = []
        for text_lines in lines_by_text:
            of_text = list(itertools.islice(translations, len(text_lines)))
            by_rank = [_text_of_rank(of_text, rank) for rank in range(asked.alternatives + 1)]
            answers.append(list(dict.fromkeys(by_rank)))
        return answers

    async def _translate_pages(self, texts: Sequence[str], request: Request) -> list[list[str]]:
        """The translation of each text in HTML, without alternatives; one deadline is for all."""
        answers = []
        seconds = self._service.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                for text in texts:
                    document = DocumentText("html", text.encode("utf-8"), "utf-8")
                    work = self._document_request(document)
                    data, _, _ = await self._service.translate_document(work, request)
                    answers.append([data.decode("utf-8", "replace")])
        except TimeoutError:
            raise missed_deadline(seconds) from None
        return answers

    def _document_request(self, document: DocumentText) -> TranslateRequest:
        """The request to translate a document; those of LibreTranslate have no options for it."""
        return TranslateRequest((), self._service.search, self._service.constraints, document)

    def _is_in_target(self, detected: Mapping[str, object]) -> bool:
        """Whether a text is in the target language already; `detected`: as `_detected` says."""
        certainty = detected["confidence"]
        assert isinstance(certainty, int)
        return detected["language"] == self._languages[1] and certainty >= CERTAIN

    def _search_for(self, alternatives: int) -> SearchConfig:
        """The settings of a search that gives a translation and so many alternatives."""
        search = self._service.search
        if not alternatives:
            return search
        count = alternatives + 1
        options = {"n_best": count, "beam": max(search.beam, count)}
        return chosen_settings(self._service.config, search, options)

    def _detected(self, text: str) -> dict[str, object]:
        """The likelier of the two languages of the model, and how certain that is, in percent."""
        src, tgt = self._languages
        line = " ".join(text.split())
        if self._text is None or not len(self._text.language_odds) or len(line) < 3:
            return {"confidence": 0, "language": src}
        encoded = np.frombuffer(f"{line}\n".encode("utf-8", "replace"), np.uint8)
        odds = float(line_sums(encoded, self._text.language_odds)[0][0])
        certainty = round(100 / (1 + math.exp(-min(abs(odds), 50.0))))
        return {"confidence": certainty, "language": src if odds >= 0 else tgt}


def _texts(value: object) -> list[str]:
    """The texts of a field `q`: one, or a list."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise RefusedError(400, "q must be a text, or a list of texts")
    if not given:
        raise RefusedError(400, "q is empty")
    return given


def _text_of_rank(translations: Sequence[Translation], rank: int) -> str:
    """The lines of a text, each with its translation of this rank, or the last it has."""
    return "\n".join(
        translation.hypotheses[min(rank, len(translation.hypotheses) - 1)].text
        for translation in translations
    )


def _language_name(code: str) -> str:
    """The English name of a language.

    >>> _language_name("deu"), _language_name("xx")
    ('German', 'xx')
    """
    return english_name(base_code(code)) or code
