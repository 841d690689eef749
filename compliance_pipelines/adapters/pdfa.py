"""From reportlab's file to PDF/A-3b: XMP, output intent, attached files, logical structure, and bytes that
repeat.

pikepdf writes the file; its identifier is derived from the content, every date is the scheduled time, and
the sRGB profile has its creation time fixed. A clock, a locale or a hash seed therefore changes nothing.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import io
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import pikepdf
from pikepdf import Array, Dictionary, Name, String
from PIL import ImageCms

from compliance_pipelines.adapters.pdf_structure import write_structure
from compliance_pipelines.adapters.pdf_tags import Node

PRODUCER = "compliance-pipelines"
_MIME = {".csv": "text/csv", ".json": "application/json", ".txt": "text/plain", ".xml": "text/xml"}


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the file says about itself; `created` is aware, `keywords` holds the digests."""

    title: str
    subject: str
    keywords: str
    identifier: str
    created: dt.datetime


def finish(data: bytes, metadata: Metadata, root: Node, attachments: Mapping[str, bytes]) -> bytes:
    """Return the PDF/A-3b file with `attachments` (file name to bytes) embedded as associated files."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        catalog = pdf.Root
        catalog.Lang = String("fr-FR")
        catalog.ViewerPreferences = Dictionary(DisplayDocTitle=True)
        catalog.PageMode = Name.UseOutlines
        catalog.OutputIntents = Array([_output_intent(pdf)])
        _attach(pdf, attachments, metadata.created)
        write_structure(pdf, root)
        _describe(pdf, metadata)
        # reportlab's own identifier follows SOURCE_DATE_EPOCH; pikepdf makes one from the content alone.
        if "/ID" in pdf.trailer:
            del pdf.trailer["/ID"]
        buffer = io.BytesIO()
        pdf.save(
            buffer,
            deterministic_id=True,
            min_version="1.7",
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
            stream_decode_level=pikepdf.StreamDecodeLevel.none,
            compress_streams=True,
        )
    return buffer.getvalue()


@functools.cache
def srgb_profile() -> bytes:
    """Return an sRGB ICC profile whose creation time and identifier are fixed."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    # Bytes 24-35 are the creation time (2000-01-01), 84-99 the MD5 of the profile: both would follow the
    # clock.
    profile[24:36] = bytes((0x07, 0xD0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0))
    profile[84:100] = bytes(16)
    return bytes(profile)


def _output_intent(pdf: pikepdf.Pdf) -> Dictionary:
    stream = pdf.make_stream(srgb_profile(), N=3)
    return pdf.make_indirect(
        Dictionary(
            Type=Name.OutputIntent,
            S=Name.GTS_PDFA1,
            OutputConditionIdentifier=String("sRGB IEC61966-2.1"),
            Info=String("sRGB IEC61966-2.1"),
            DestOutputProfile=stream,
        )
    )


def _attach(pdf: pikepdf.Pdf, attachments: Mapping[str, bytes], created: dt.datetime) -> None:
    specs = []
    names: list[pikepdf.Object] = []
    for name in sorted(attachments):
        payload = attachments[name]
        suffix = name[name.rfind(".") :] if "." in name else ""
        stream = pdf.make_stream(
            payload,
            Type=Name.EmbeddedFile,
            Subtype=Name("/" + _MIME.get(suffix, "application/octet-stream")),
            Params=Dictionary(
                Size=len(payload),
                ModDate=String(_pdf_date(created)),
                CheckSum=String(hashlib.md5(payload, usedforsecurity=False).digest()),
            ),
        )
        spec = pdf.make_indirect(
            Dictionary(
                Type=Name.Filespec,
                F=String(name),
                UF=String(name),
                Desc=String("Chiffres imprimés dans le rapport"),
                AFRelationship=Name.Data,
                EF=Dictionary(F=stream, UF=stream),
            )
        )
        specs.append(spec)
        names.extend((String(name), spec))
    if specs:
        pdf.Root.Names = Dictionary(EmbeddedFiles=Dictionary(Names=Array(names)))
        pdf.Root.AF = Array(specs)


def _pdf_date(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).strftime("D:%Y%m%d%H%M%S+00'00'")


def _describe(pdf: pikepdf.Pdf, metadata: Metadata) -> None:
    info = pdf.docinfo
    for key in list(info.keys()):
        del info[key]
    info.Title = String(metadata.title)
    info.Subject = String(metadata.subject)
    info.Keywords = String(metadata.keywords)
    info.Creator = String(PRODUCER)
    info.Producer = String(PRODUCER)
    info.CreationDate = String(_pdf_date(metadata.created))
    info.ModDate = String(_pdf_date(metadata.created))
    pdf.Root.Metadata = pdf.make_stream(_xmp(metadata), Type=Name.Metadata, Subtype=Name.XML)


def _xmp(metadata: Metadata) -> bytes:
    stamp = metadata.created.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")
    document = uuid.uuid5(uuid.NAMESPACE_URL, f"{metadata.identifier}\n{metadata.keywords}\n{stamp}")
    text = _XMP.format(
        title=escape(metadata.title),
        subject=escape(metadata.subject),
        keywords=escape(metadata.keywords),
        identifier=escape(metadata.identifier),
        producer=PRODUCER,
        stamp=stamp,
        document=f"uuid:{document}",
    )
    return text.encode("utf-8")


_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:xmpMM="http://ns.adobe.com/xap/1.0/mm/"
 xmlns:pdf="http://ns.adobe.com/pdf/1.3/"
 xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/"
 xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/">
<pdfaid:part>3</pdfaid:part>
<pdfaid:conformance>B</pdfaid:conformance>
<pdfuaid:part>1</pdfuaid:part>
<dc:format>application/pdf</dc:format>
<dc:identifier>{identifier}</dc:identifier>
<dc:language><rdf:Bag><rdf:li>fr-FR</rdf:li></rdf:Bag></dc:language>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">{subject}</rdf:li></rdf:Alt></dc:description>
<pdf:Producer>{producer}</pdf:Producer>
<pdf:Keywords>{keywords}</pdf:Keywords>
<xmp:CreatorTool>{producer}</xmp:CreatorTool>
<xmp:CreateDate>{stamp}</xmp:CreateDate>
<xmp:ModifyDate>{stamp}</xmp:ModifyDate>
<xmp:MetadataDate>{stamp}</xmp:MetadataDate>
<xmpMM:DocumentID>{document}</xmpMM:DocumentID>
</rdf:Description>
<rdf:Description rdf:about=""
 xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
 xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
 xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>PDF/UA Universal Accessibility Schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
<pdfaProperty:name>part</pdfaProperty:name>
<pdfaProperty:valueType>Integer</pdfaProperty:valueType>
<pdfaProperty:category>internal</pdfaProperty:category>
<pdfaProperty:description>Part of ISO 14289 the document follows</pdfaProperty:description>
</rdf:li></rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas>
</rdf:Description>
</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>"""
